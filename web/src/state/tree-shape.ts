/** The shape of a tree as typed arrays: parents, authors and flags of all nodes by number, without texts. */
import type { Skeleton } from "../api/values";

export const Flag = { excluded: 1, bookmarked: 2, pruned: 4, annotation: 8, interrupted: 16, undone: 32 } as const;

const HIDDEN = Flag.pruned | Flag.annotation | Flag.undone;

/** Nodes are numbered from 1, the root's number; 0 is no node. Never changed after it was made. */
export class TreeShape {
  private readonly numbers = new Map<string, number>();
  private childLists: Map<number, number[]> | null = null;
  private noteLists: Map<number, number[]> | null = null;

  private constructor(
    readonly revision: number,
    readonly agents: readonly string[],
    readonly ids: readonly string[],
    readonly parents: Int32Array,
    readonly positions: Int32Array | null,
    readonly authors: Uint16Array,
    readonly kinds: Uint8Array,
    readonly flags: Uint8Array,
  ) {
    ids.forEach((id, index) => this.numbers.set(id, index + 1));
  }

  static decode(skeleton: Skeleton): TreeShape {
    return new TreeShape(
      skeleton.revision,
      skeleton.agents,
      skeleton.ids === "" ? [] : skeleton.ids.split(" "),
      new Int32Array(bytes(skeleton.parents)),
      skeleton.positions === "" ? null : new Int32Array(bytes(skeleton.positions)),
      new Uint16Array(bytes(skeleton.authors)),
      new Uint8Array(bytes(skeleton.kinds)),
      new Uint8Array(bytes(skeleton.flags)),
    );
  }

  get size(): number {
    return this.ids.length;
  }

  /** The number of a node by its local id; 0 if there is none. */
  number(id: string): number {
    return this.numbers.get(id) ?? 0;
  }

  id(number: number): string {
    return this.ids[number - 1] ?? "";
  }

  parent(number: number): number {
    return this.parents[number - 1] ?? 0;
  }

  author(number: number): string {
    return this.agents[this.authors[number - 1] ?? -1] ?? "";
  }

  has(number: number, flag: number): boolean {
    return ((this.flags[number - 1] ?? 0) & flag) !== 0;
  }

  /** Continuations that are shown: neither pruned nor undone. */
  children(number: number): readonly number[] {
    this.childLists ??= this.lists((flags) => (flags & HIDDEN) === 0);
    return this.childLists.get(number) ?? [];
  }

  annotations(number: number): readonly number[] {
    this.noteLists ??= this.lists((flags) => (flags & HIDDEN) === Flag.annotation);
    return this.noteLists.get(number) ?? [];
  }

  /** A node among its siblings; a pruned one is among them while it is the one that is read. */
  siblings(number: number): readonly number[] {
    const shown = this.children(this.parent(number));
    return shown.includes(number) ? shown : [...shown, number].sort((a, b) => a - b);
  }

  /** Numbers from the root to a node. */
  path(number: number): number[] {
    const path: number[] = [];
    for (let at = number; at > 0; at = this.parent(at)) path.push(at);
    return path.reverse();
  }

  depth(number: number): number {
    let depth = -1;
    for (let at = number; at > 0; at = this.parent(at)) depth += 1;
    return depth;
  }

  /** Nodes below a node, itself not counted. */
  countBelow(number: number): number {
    let count = 0;
    const open = [...this.children(number)];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      count += 1;
      open.push(...this.children(at));
    }
    return count;
  }

  /** The same shape with the nodes that were added since; `rest` begins after its last node. */
  extended(rest: Skeleton): TreeShape {
    const added = TreeShape.decode(rest);
    const agents = [...new Set([...this.agents, ...added.agents])];
    const authors = added.authors.map((index) => agents.indexOf(added.agents[index] ?? ""));
    return new TreeShape(
      added.revision,
      agents,
      [...this.ids, ...added.ids],
      joined(Int32Array, this.parents, added.parents),
      this.positions && added.positions ? joined(Int32Array, this.positions, added.positions) : this.positions,
      joined(Uint16Array, this.authors, authors),
      joined(Uint8Array, this.kinds, added.kinds),
      joined(Uint8Array, this.flags, added.flags),
    );
  }

  private lists(shown: (flags: number) => boolean): Map<number, number[]> {
    const lists = new Map<number, number[]>();
    for (let number = 1; number <= this.size; number += 1) {
      if (!shown(this.flags[number - 1] ?? 0)) continue;
      const list = lists.get(this.parents[number - 1] ?? 0);
      if (list) list.push(number);
      else lists.set(this.parents[number - 1] ?? 0, [number]);
    }
    return lists;
  }
}

function bytes(base64: string): ArrayBuffer {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer;
}

function joined<A extends Int32Array | Uint16Array | Uint8Array>(kind: new (length: number) => A, before: A, added: A): A {
  const all = new kind(before.length + added.length);
  all.set(before);
  all.set(added, before.length);
  return all;
}
