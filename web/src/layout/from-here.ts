/** The docked map: the path to a node drawn straight, its siblings as stubs on their true side, runs folded. */

import { childCount, childrenOf, pathTo, type Shape } from "./shape";

export interface NodeRow {
  kind: "node";
  index: number;
  depth: number;
  /** Siblings that come before and after, of which at most `most` are drawn as stubs. */
  left: number[];
  right: number[];
  /** How many siblings are not drawn. */
  more: number;
  children: number;
}

export interface RunRow {
  kind: "run";
  first: number;
  last: number;
  depth: number;
  nodes: number;
}

export type FromHereRow = NodeRow | RunRow;

export interface FromHereOptions {
  /** The least number of nodes that a folded run has. */
  least?: number;
  /** Nodes with a mark (bookmark, presence, unread) stay on their own row. */
  keep?: ReadonlySet<number>;
  /** How many of the last nodes before `here` stay unfolded, so that the neighbourhood can be read. */
  near?: number;
  /** The most stubs on each side. */
  stubs?: number;
  /** Runs that are opened, by their first node. */
  opened?: ReadonlySet<number>;
  /** The last node of the path that is drawn, when it goes on below `here`. */
  end?: number;
}

export function rowsFromHere(shape: Shape, here: number, options: FromHereOptions = {}): FromHereRow[] {
  const least = options.least ?? 3;
  const near = options.near ?? 8;
  const path = pathTo(shape, options.end ?? here);
  const place = path.indexOf(here);
  const isPlain = (at: number): boolean => {
    const index = path[at]!;
    if (at === 0 || options.keep?.has(index) || Math.abs(at - place) < near) return false;
    const above = shape.parent[index]!;
    return childCount(shape, above) === 1 && childCount(shape, index) === 1;
  };
  const rows: FromHereRow[] = [];
  for (let at = 0; at < path.length;) {
    let end = at;
    while (end < path.length && isPlain(end)) end++;
    if (end - at >= least && !options.opened?.has(path[at]!)) {
      rows.push({
        kind: "run",
        first: path[at]!,
        last: path[end - 1]!,
        depth: shape.depth[path[at]!]!,
        nodes: end - at,
      });
      at = end;
      continue;
    }
    do {
      rows.push(nodeRow(shape, path[at]!, options.stubs ?? 4));
      at++;
    } while (at < end);
  }
  return rows;
}

function nodeRow(shape: Shape, index: number, most: number): NodeRow {
  const above = shape.parent[index]!;
  const siblings = above < 0 ? [index] : [...childrenOf(shape, above)];
  const place = siblings.indexOf(index);
  const left = siblings.slice(Math.max(0, place - most), place);
  const right = siblings.slice(place + 1, place + 1 + most);
  return {
    kind: "node",
    index,
    depth: shape.depth[index]!,
    left,
    right,
    more: siblings.length - 1 - left.length - right.length,
    children: childCount(shape, index),
  };
}
