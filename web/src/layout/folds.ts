/** Folded straight runs: a long stretch without branches becomes one mark that says how many it holds. */

import { childCount, type Shape } from "./shape";

/** The marks that are drawn, parents before children. A mark is a node, or a run of nodes. */
export interface Marks {
  count: number;
  /** The first node of each mark. */
  first: Int32Array;
  /** The last node of each mark: the same as `first`, unless it is a run. */
  last: Int32Array;
  /** How many nodes each mark stands for. */
  nodes: Int32Array;
  /** Descendants that are folded away below the mark. */
  below: Int32Array;
  /** The mark above, −1 for the root's. */
  parent: Int32Array;
  starts: Int32Array;
  children: Int32Array;
  depth: Int32Array;
  /** The mark of each node, −1 where it is not drawn. */
  markOf: Int32Array;
}

export interface FoldOptions {
  /** The least number of nodes that a run has. */
  least?: number;
  /** Nodes that stay on their own: here, bookmarks, unread ones. */
  keep?: Iterable<number>;
  /** Nodes whose descendants are folded away. */
  closed?: Iterable<number>;
  /** Runs that are opened, by their first node. */
  opened?: Iterable<number>;
}

export function foldRuns(shape: Shape, options: FoldOptions = {}): Marks {
  const least = options.least ?? 8;
  const total = shape.present.length;
  const keep = flagged(total, options.keep);
  const closed = flagged(total, options.closed);
  const opened = flagged(total, options.opened);
  const markOf = new Int32Array(total).fill(-1);
  const first = new Int32Array(shape.count);
  const last = new Int32Array(shape.count);
  const nodes = new Int32Array(shape.count);
  const below = new Int32Array(shape.count);
  const parent = new Int32Array(shape.count);
  const depth = new Int32Array(shape.count);
  const straight = (at: number): boolean =>
    childCount(shape, at) === 1 &&
    !keep[at] &&
    !closed[at] &&
    shape.parent[at]! >= 0 &&
    childCount(shape, shape.parent[at]!) === 1;
  let count = 0;
  for (let at = 0; at < total; at++) {
    // Nodes come after their parents, so the mark above is known; a node inside a run has its mark already.
    if (!shape.present[at] || markOf[at]! >= 0) continue;
    const above = shape.parent[at]!;
    const upper = above < 0 ? -1 : markOf[above]!;
    if (above >= 0 && (upper < 0 || closed[above])) continue;
    let end = at;
    let held = 1;
    const unfolded = straight(at) && opened[at] === 1;
    if (unfolded && straight(onlyChild(shape, at))) opened[onlyChild(shape, at)] = 1;
    if (straight(at) && !unfolded) {
      for (let next = onlyChild(shape, end); straight(next); next = onlyChild(shape, end)) {
        end = next;
        held++;
      }
      if (held < least) {
        end = at;
        held = 1;
      }
    }
    const mark = count++;
    first[mark] = at;
    last[mark] = end;
    nodes[mark] = held;
    parent[mark] = upper;
    depth[mark] = upper < 0 ? 0 : depth[upper]! + 1;
    below[mark] = closed[end] ? shape.sizes[end]! - 1 : 0;
    for (let inside = at; ; inside = onlyChild(shape, inside)) {
      markOf[inside] = mark;
      if (inside === end) break;
    }
  }
  return {
    count,
    first: first.slice(0, count),
    last: last.slice(0, count),
    nodes: nodes.slice(0, count),
    below: below.slice(0, count),
    parent: parent.slice(0, count),
    depth: depth.slice(0, count),
    markOf,
    ...listChildren(parent, count),
  };
}

function onlyChild(shape: Shape, at: number): number {
  return shape.children[shape.starts[at]!]!;
}

function flagged(total: number, indices: Iterable<number> | undefined): Uint8Array {
  const flags = new Uint8Array(total);
  for (const at of indices ?? []) flags[at] = 1;
  return flags;
}

function listChildren(parent: Int32Array, count: number): { starts: Int32Array; children: Int32Array } {
  const starts = new Int32Array(count + 1);
  for (let mark = 1; mark < count; mark++) starts[parent[mark]! + 1]!++;
  for (let mark = 0; mark < count; mark++) starts[mark + 1]! += starts[mark]!;
  const filled = starts.slice(0, count);
  const children = new Int32Array(Math.max(0, count - 1));
  for (let mark = 1; mark < count; mark++) children[filled[parent[mark]!]!++] = mark;
  return { starts, children };
}
