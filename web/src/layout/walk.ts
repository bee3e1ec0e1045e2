/** Walk a tree by its geometry: parent above, child below, siblings left and right. */

import { childCount, childrenOf, type Shape } from "./shape";

export type Direction = "parent" | "child" | "previous sibling" | "next sibling" | "branch above" | "branch below";

/** Which child was visited last below each node, so that going down goes where the reader went. */
export class LastVisited {
  private readonly child = new Map<number, number>();

  visit(shape: Shape, at: number): void {
    for (let here = at; shape.parent[here]! >= 0; here = shape.parent[here]!) {
      if (this.child.get(shape.parent[here]!) === here) break;
      this.child.set(shape.parent[here]!, here);
    }
  }

  below(shape: Shape, at: number): number {
    const children = childrenOf(shape, at);
    if (children.length === 0) return -1;
    const last = this.child.get(at);
    return last !== undefined && children.includes(last) ? last : children[0]!;
  }
}

/** The node in a direction, or the same node where there is none. */
export function step(shape: Shape, at: number, direction: Direction, visited: LastVisited): number {
  const above = shape.parent[at]!;
  switch (direction) {
    case "parent":
      return above >= 0 ? above : at;
    case "child": {
      const below = visited.below(shape, at);
      return below >= 0 ? below : at;
    }
    case "previous sibling":
    case "next sibling": {
      if (above < 0) return at;
      const siblings = childrenOf(shape, above);
      return siblings[siblings.indexOf(at) + (direction === "next sibling" ? 1 : -1)] ?? at;
    }
    case "branch above": {
      for (let here = above; here >= 0; here = shape.parent[here]!) if (childCount(shape, here) > 1) return here;
      return at;
    }
    case "branch below": {
      for (let here = visited.below(shape, at); here >= 0; here = visited.below(shape, here)) {
        if (childCount(shape, here) > 1) return here;
      }
      return at;
    }
  }
}
