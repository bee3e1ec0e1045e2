/** The skeleton of a tree: the columns of `GET /api/trees/{tree}/skeleton` as typed arrays. */

export interface SkeletonAnswer {
  nodes: number
  revision: number
  agents: string[]
  ids: string
  parents: string
  positions: string
  authors: string
  kinds: string
  flags: string
}

/** One row a node, by creation; a node's number is its index + 1. */
export interface Skeleton {
  nodes: number
  revision: number
  agents: string[]
  /** The local id of each node, for its address. */
  ids: string[]
  /** The number of the parent's position, 0 for the root. */
  parents: Int32Array
  /** The number of the position each node is a version of; null in dialogue mode, where each has its own. */
  positions: Int32Array | null
  authors: Uint16Array
  kinds: Uint8Array
  flags: Uint8Array
}

export const Flag = {
  excluded: 1,
  bookmarked: 2,
  pruned: 4,
  annotation: 8,
  interrupted: 16,
  undone: 32,
} as const

export const KINDS = ['text', 'image', 'audio', 'tool_call', 'tool_result', 'thinking', 'mixed'] as const

export class SkeletonError extends Error {}

export function decodeSkeleton(answer: SkeletonAnswer): Skeleton {
  const { nodes } = answer
  const ids = answer.ids ? answer.ids.split(' ') : []
  const skeleton: Skeleton = {
    nodes,
    revision: answer.revision,
    agents: answer.agents,
    ids,
    parents: new Int32Array(column('parents', answer.parents, 4, nodes)),
    positions: answer.positions ? new Int32Array(column('positions', answer.positions, 4, nodes)) : null,
    authors: new Uint16Array(column('authors', answer.authors, 2, nodes)),
    kinds: new Uint8Array(column('kinds', answer.kinds, 1, nodes)),
    flags: new Uint8Array(column('flags', answer.flags, 1, nodes)),
  }
  if (ids.length !== nodes) throw new SkeletonError(`ids has ${ids.length} entries, expected ${nodes}`)
  return skeleton
}

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

function column(name: string, base64: string, width: number, nodes: number): ArrayBuffer {
  const bytes = decodeBase64(base64)
  if (bytes.length !== width * nodes) {
    throw new SkeletonError(`${name} has ${bytes.length} bytes, expected ${width * nodes}`)
  }
  if (!LITTLE_ENDIAN && width > 1) {
    for (let at = 0; at < bytes.length; at += width) bytes.subarray(at, at + width).reverse()
  }
  return bytes.buffer
}

function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}
