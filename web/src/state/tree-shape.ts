/** The shape of an open tree: its skeleton, with children, siblings and paths. */
import type { Skeleton as Answer } from "../api/values";
import { decodeSkeleton, Flag, type Skeleton } from "../layout/skeleton";

export { Flag };

const HIDDEN = Flag.pruned | Flag.annotation | Flag.undone;

/** A node is known by its row + 1, the root by 1; 0 is no node. Never changed after it was made. */
export class TreeShape {
  private readonly rows = new Map<string, number>();
  private childLists: Map<number, number[]> | null = null;
  private noteLists: Map<number, number[]> | null = null;

  private constructor(readonly skeleton: Skeleton) {
    skeleton.ids.forEach((id, index) => this.rows.set(id, index + 1));
  }

  static decode(answer: Answer): TreeShape {
    return new TreeShape(decodeSkeleton(answer));
  }

  get size(): number {
    return this.skeleton.ids.length;
  }

  get revision(): number {
    return this.skeleton.revision;
  }

  /** The row of a node by its local id; 0 if there is none. */
  row(id: string): number {
    return this.rows.get(id) ?? 0;
  }

  /** The number of a node, by which the server reads ranges of nodes; attempts take numbers too. */
  number(row: number): number {
    return this.skeleton.numbers[row - 1] ?? 0;
  }

  /** The number after which new nodes are read. */
  get lastNumber(): number {
    return this.skeleton.numbers.at(-1) ?? 0;
  }

  id(row: number): string {
    return this.skeleton.ids[row - 1] ?? "";
  }

  parent(row: number): number {
    return this.skeleton.parents[row - 1] ?? 0;
  }

  author(row: number): string {
    return this.skeleton.agents[this.skeleton.authors[row - 1] ?? -1] ?? "";
  }

  has(row: number, flag: number): boolean {
    return ((this.skeleton.flags[row - 1] ?? 0) & flag) !== 0;
  }

  /** Continuations that are shown: neither pruned nor undone. */
  children(row: number): readonly number[] {
    this.childLists ??= this.lists((flags) => (flags & HIDDEN) === 0);
    return this.childLists.get(row) ?? [];
  }

  annotations(row: number): readonly number[] {
    this.noteLists ??= this.lists((flags) => (flags & HIDDEN) === Flag.annotation);
    return this.noteLists.get(row) ?? [];
  }

  /** A node among its siblings; a pruned one is among them while it is the one that is read. */
  siblings(row: number): readonly number[] {
    const shown = this.children(this.parent(row));
    return shown.includes(row) ? shown : [...shown, row].sort((a, b) => a - b);
  }

  /** Rows from the root to a node. */
  path(row: number): number[] {
    const path: number[] = [];
    for (let at = row; at > 0; at = this.parent(at)) path.push(at);
    return path.reverse();
  }

  depth(row: number): number {
    let depth = -1;
    for (let at = row; at > 0; at = this.parent(at)) depth += 1;
    return depth;
  }

  /** Nodes below a node, itself not counted. */
  countBelow(row: number): number {
    let count = 0;
    const open = [...this.children(row)];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      count += 1;
      open.push(...this.children(at));
    }
    return count;
  }

  /** The same shape with the nodes that were added since; `rest` begins after its last number. */
  extended(rest: Answer): TreeShape {
    const before = this.skeleton;
    const added = decodeSkeleton(rest, before.numbers);
    const agents = [...new Set([...before.agents, ...added.agents])];
    const authors = added.authors.map((index) => agents.indexOf(added.agents[index] ?? ""));
    return new TreeShape({
      nodes: before.nodes + added.nodes,
      revision: added.revision,
      agents,
      ids: [...before.ids, ...added.ids],
      numbers: joined(Int32Array, before.numbers, added.numbers),
      parents: joined(Int32Array, before.parents, added.parents),
      positions: before.positions && joined(Int32Array, before.positions, added.positions ?? new Int32Array()),
      authors: joined(Uint16Array, before.authors, authors),
      kinds: joined(Uint8Array, before.kinds, added.kinds),
      flags: joined(Uint8Array, before.flags, added.flags),
    });
  }

  private lists(shown: (flags: number) => boolean): Map<number, number[]> {
    const lists = new Map<number, number[]>();
    const { flags, parents } = this.skeleton;
    for (let row = 1; row <= this.size; row += 1) {
      if (!shown(flags[row - 1]!)) continue;
      const list = lists.get(parents[row - 1]!);
      if (list) list.push(row);
      else lists.set(parents[row - 1]!, [row]);
    }
    return lists;
  }
}

function joined<A extends Int32Array | Uint16Array | Uint8Array>(kind: new (length: number) => A, before: A, added: A): A {
  const all = new kind(before.length + added.length);
  all.set(before);
  all.set(added, before.length);
  return all;
}
