/** The skeleton of a tree: the columns of `GET /api/trees/{tree}/skeleton` as typed arrays. */

export interface SkeletonAnswer {
  nodes: number;
  revision: number;
  agents: string[];
  ids: string;
  numbers: string;
  parents: string;
  positions: string;
  authors: string;
  kinds: string;
  flags: string;
}

/** One row a node, by creation. Parents and positions are given by row, not by number: attempts take numbers too. */
export interface Skeleton {
  nodes: number;
  revision: number;
  agents: string[];
  /** The local id of each node, for its address. */
  ids: string[];
  /** The number of each node, by which ranges of nodes are read. */
  numbers: Int32Array;
  /** The row of the parent's position + 1, 0 for the root. */
  parents: Int32Array;
  /** The row of the position each node is a version of, + 1; null in dialogue mode, where each has its own. */
  positions: Int32Array | null;
  authors: Uint16Array;
  kinds: Uint8Array;
  flags: Uint8Array;
}

export const Flag = {
  excluded: 1,
  bookmarked: 2,
  pruned: 4,
  annotation: 8,
  interrupted: 16,
  undone: 32,
} as const;

export const KINDS = ["text", "image", "audio", "tool_call", "tool_result", "thinking", "mixed"] as const;

export class SkeletonError extends Error {}

/** `before` are the numbers of the nodes that are known already, where an answer is the rest of a skeleton. */
export function decodeSkeleton(answer: SkeletonAnswer, before: Int32Array = new Int32Array()): Skeleton {
  const { nodes } = answer;
  const ids = answer.ids ? answer.ids.split(" ") : [];
  const numbers = answer.numbers
    ? new Int32Array(column("numbers", answer.numbers, 4, nodes))
    : Int32Array.from({ length: nodes }, (_, at) => at + 1);
  const rows = rowsByNumber(before, numbers);
  const skeleton: Skeleton = {
    nodes,
    revision: answer.revision,
    agents: answer.agents,
    ids,
    numbers,
    parents: byRow(rows, new Int32Array(column("parents", answer.parents, 4, nodes))),
    positions: answer.positions
      ? byRow(rows, new Int32Array(column("positions", answer.positions, 4, nodes)))
      : null,
    authors: new Uint16Array(column("authors", answer.authors, 2, nodes)),
    kinds: new Uint8Array(column("kinds", answer.kinds, 1, nodes)),
    flags: new Uint8Array(column("flags", answer.flags, 1, nodes)),
  };
  if (ids.length !== nodes) throw new SkeletonError(`ids has ${ids.length} entries, expected ${nodes}`);
  return skeleton;
}

function rowsByNumber(before: Int32Array, numbers: Int32Array): Int32Array {
  const rows = new Int32Array((numbers.at(-1) ?? before.at(-1) ?? 0) + 1);
  before.forEach((number, at) => (rows[number] = at + 1));
  numbers.forEach((number, at) => (rows[number] = before.length + at + 1));
  return rows;
}

/** Numbers replaced by rows + 1; 0 stays. */
function byRow(rows: Int32Array, column: Int32Array): Int32Array {
  return column.map((number) => rows[number] ?? 0);
}

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

function column(name: string, base64: string, width: number, nodes: number): ArrayBuffer {
  const bytes = decodeBase64(base64);
  if (bytes.length !== width * nodes) {
    throw new SkeletonError(`${name} has ${bytes.length} bytes, expected ${width * nodes}`);
  }
  if (!LITTLE_ENDIAN && width > 1) {
    for (let at = 0; at < bytes.length; at += width) bytes.subarray(at, at + width).reverse();
  }
  return bytes.buffer;
}

function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
