/** The shape of a tree: who is whose child, how deep, how many below; over the positions of a skeleton. */

import { Flag, SkeletonError, type Skeleton } from "./skeleton";

/** Columns by index (number − 1). An index that is not `present` has no other meaning. */
export interface Shape {
  root: number;
  /** How many are present. */
  count: number;
  present: Uint8Array;
  /** The index of the parent, −1 for the root. */
  parent: Int32Array;
  /** Children of `at`: `children[starts[at] … starts[at + 1])`, the oldest first. */
  starts: Int32Array;
  children: Int32Array;
  depth: Int32Array;
  /** Descendants, itself included. */
  sizes: Int32Array;
  /** The latest version at each position: what is drawn there. */
  latest: Int32Array;
}

export type ShapeColumns = Pick<Skeleton, "nodes" | "parents" | "positions" | "flags">;

export interface ShapeOptions {
  /** Draw what is pruned too. */
  pruned?: boolean;
  /** Draw only from this index down. */
  hoist?: number;
}

/** Undone nodes and annotations are never part of the shape; nor is what hangs below a hidden node. */
export function shapeOf(skeleton: ShapeColumns, options: ShapeOptions = {}): Shape {
  const { nodes, parents, positions, flags } = skeleton;
  const hidden = Flag.undone | Flag.annotation | (options.pruned ? 0 : Flag.pruned);
  const root = options.hoist ?? 0;
  const present = new Uint8Array(nodes);
  const parent = new Int32Array(nodes).fill(-1);
  const depth = new Int32Array(nodes);
  const latest = new Int32Array(nodes);
  const starts = new Int32Array(nodes + 1);
  let count = 0;
  for (let at = 0; at < nodes; at++) {
    const position = positions ? positions[at]! - 1 : at;
    const visible = (flags[at]! & hidden) === 0;
    if (visible) latest[position] = at;
    const above = parents[position]! - 1;
    if (above >= position || position > at) {
      throw new SkeletonError(`node ${at + 1} comes before its parent`);
    }
    // A later version can be visible where the first one is not: the position counts once.
    if (!visible || present[position]) continue;
    if (position === root) {
      present[position] = 1;
      count++;
    } else if (above >= 0 && present[above]) {
      present[position] = 1;
      parent[position] = above;
      starts[above + 1]!++;
      count++;
    }
  }
  for (let at = 0; at < nodes; at++) starts[at + 1]! += starts[at]!;
  const children = new Int32Array(Math.max(0, count - 1));
  const filled = starts.slice(0, nodes);
  for (let at = 0; at < nodes; at++) {
    const above = parent[at]!;
    if (above < 0 || !present[at]) continue;
    depth[at] = depth[above]! + 1;
    children[filled[above]!++] = at;
  }
  const sizes = new Int32Array(nodes);
  for (let at = nodes - 1; at >= 0; at--) {
    if (!present[at]) continue;
    sizes[at]!++;
    if (parent[at]! >= 0) sizes[parent[at]!]! += sizes[at]!;
  }
  return { root, count, present, parent, starts, children, depth, sizes, latest };
}

export function childCount(shape: Shape, at: number): number {
  return shape.starts[at + 1]! - shape.starts[at]!;
}

export function childrenOf(shape: Shape, at: number): Int32Array {
  return shape.children.subarray(shape.starts[at], shape.starts[at + 1]);
}

/** The indices from the root to `at`, both included. */
export function pathTo(shape: Shape, at: number): number[] {
  const path: number[] = [];
  for (let here = at; here >= 0; here = shape.parent[here]!) path.push(here);
  return path.reverse();
}

/** Where `at` is among its siblings, from 0, and how many there are. */
export function siblingPlace(shape: Shape, at: number): { place: number; of: number } {
  const above = shape.parent[at]!;
  if (above < 0) return { place: 0, of: 1 };
  const siblings = childrenOf(shape, above);
  return { place: siblings.indexOf(at), of: siblings.length };
}

export function branchCount(shape: Shape): number {
  let leaves = 0;
  for (let at = 0; at < shape.present.length; at++) {
    if (shape.present[at] && childCount(shape, at) === 0) leaves++;
  }
  return leaves;
}
