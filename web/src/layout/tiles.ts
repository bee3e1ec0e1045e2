/** Tiles over a layout: which marks and edges are in view, and how dense the tree is where marks are too small. */

import type { Marks } from "./folds";
import type { TreeLayout } from "./tidy-tree";

/** A part of the layout, in its own units. */
export interface View {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const TILE = 16;
/** A mark's edge reaches into the tiles beside it; a longer one is looked up on its own. */
const LONG = TILE;

export class Tiles {
  readonly columns: number;
  readonly rows: number;
  private readonly starts: Int32Array;
  private readonly members: Int32Array;
  /** Marks whose edge to their parent is longer than a tile. */
  private readonly long: Int32Array;

  constructor(
    private readonly marks: Marks,
    private readonly layout: TreeLayout,
  ) {
    this.columns = Math.floor(layout.width / TILE) + 1;
    this.rows = Math.floor(layout.height / TILE) + 1;
    const counts = new Int32Array(this.columns * this.rows + 1);
    const tile = new Int32Array(marks.count);
    const long: number[] = [];
    for (let mark = 0; mark < marks.count; mark++) {
      tile[mark] = this.tileAt(layout.x[mark]!, layout.y[mark]!);
      counts[tile[mark]! + 1]!++;
      const above = marks.parent[mark]!;
      if (above >= 0 && Math.abs(layout.x[mark]! - layout.x[above]!) > LONG) long.push(mark);
    }
    for (let at = 1; at < counts.length; at++) counts[at]! += counts[at - 1]!;
    this.starts = counts;
    const filled = counts.slice(0, -1);
    this.members = new Int32Array(marks.count);
    for (let mark = 0; mark < marks.count; mark++) this.members[filled[tile[mark]!]!++] = mark;
    this.long = Int32Array.from(long);
  }

  private tileAt(x: number, y: number): number {
    return Math.floor(y / TILE) * this.columns + Math.floor(x / TILE);
  }

  /** The tiles that a view touches, as ranges of `members`. */
  private *touched(view: View): Generator<[number, number]> {
    const left = Math.max(0, Math.floor(view.left / TILE));
    const right = Math.min(this.columns - 1, Math.floor(view.right / TILE));
    const top = Math.max(0, Math.floor(view.top / TILE));
    const bottom = Math.min(this.rows - 1, Math.floor(view.bottom / TILE));
    if (left > right) return;
    for (let row = top; row <= bottom; row++) {
      yield [this.starts[row * this.columns + left]!, this.starts[row * this.columns + right + 1]!];
    }
  }

  /** How many marks are in the tiles of a view: an upper bound, without looking at them. */
  count(view: View): number {
    let count = 0;
    for (const [from, to] of this.touched(view)) count += to - from;
    return count;
  }

  /** The marks in view, at most `most`. */
  marksIn(view: View, most = 10_000): Int32Array {
    const { x, y } = this.layout;
    const seen = new Int32Array(Math.min(most, this.count(view)));
    let count = 0;
    for (const [from, to] of this.touched(view)) {
      for (let at = from; at < to && count < seen.length; at++) {
        const mark = this.members[at]!;
        if (x[mark]! >= view.left && x[mark]! <= view.right && y[mark]! >= view.top && y[mark]! <= view.bottom) {
          seen[count++] = mark;
        }
      }
    }
    return seen.subarray(0, count);
  }

  /** The marks whose edge to their parent may cross the view, at most `most`. */
  edgesIn(view: View, most = 10_000): Int32Array {
    const wide = { left: view.left - LONG, right: view.right + LONG, top: view.top, bottom: view.bottom + 1 };
    const { x, y } = this.layout;
    const seen = new Set<number>();
    for (const mark of this.marksIn(wide, most)) if (this.marks.parent[mark]! >= 0) seen.add(mark);
    for (const mark of this.long) {
      if (seen.size >= most) break;
      const above = this.marks.parent[mark]!;
      const outside =
        y[mark]! < view.top ||
        y[above]! > view.bottom ||
        Math.max(x[mark]!, x[above]!) < view.left ||
        Math.min(x[mark]!, x[above]!) > view.right;
      if (!outside) seen.add(mark);
    }
    return Int32Array.from(seen);
  }

  /** How many marks are in each cell of a grid over the whole layout, and the most that any cell has. */
  density(columns: number, rows: number): { cells: Uint32Array; most: number } {
    const cells = new Uint32Array(columns * rows);
    const { x, y, width, height } = this.layout;
    let most = 0;
    for (let mark = 0; mark < this.marks.count; mark++) {
      const column = Math.min(columns - 1, Math.floor((x[mark]! / (width || 1)) * columns));
      const row = Math.min(rows - 1, Math.floor((y[mark]! / (height || 1)) * rows));
      most = Math.max(most, (cells[row * columns + column]! += this.marks.nodes[mark]!));
    }
    return { cells, most };
  }

  /** The mark nearest to a point, within `reach`; −1 if there is none. */
  nearest(x: number, y: number, reach: number): number {
    let best = -1;
    let least = reach * reach;
    const view = { left: x - reach, right: x + reach, top: y - reach, bottom: y + reach };
    for (const mark of this.marksIn(view, this.marks.count)) {
      const distance = (this.layout.x[mark]! - x) ** 2 + (this.layout.y[mark]! - y) ** 2;
      if (distance <= least) {
        least = distance;
        best = mark;
      }
    }
    return best;
  }
}
