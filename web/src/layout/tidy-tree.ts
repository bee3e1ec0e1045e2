/**
 * Tidy tree: a place for every mark, parents centred over their children, subtrees as close as they can be.
 *
 * Buchheim's linear form of the Walker layout, on typed arrays and without recursion: the time depends on the
 * number of marks only, so a path 100,000 deep costs no more than a bush (d3-hierarchy computes heights in a way
 * that is quadratic in the depth).
 */

import type { Marks } from "./folds";

export interface TreeLayout {
  /** In units of one sibling's distance; the least is 0. */
  x: Float32Array;
  /** In units of one level. */
  y: Float32Array;
  width: number;
  height: number;
}

export interface Spacing {
  /** Between siblings. */
  sibling: number;
  /** Between cousins. */
  cousin: number;
}

const SPACING: Spacing = { sibling: 1, cousin: 1.25 };

export function layOut(marks: Marks, spacing: Spacing = SPACING): TreeLayout {
  const walker = new Walker(marks, spacing);
  return walker.run();
}

class Walker {
  private readonly prelim: Float64Array;
  private readonly mod: Float64Array;
  private readonly shift: Float64Array;
  private readonly change: Float64Array;
  private readonly thread: Int32Array;
  private readonly ancestor: Int32Array;
  /** The subtree that conflicts are attributed to when their own ancestor is no sibling. */
  private readonly fallback: Int32Array;
  /** The place among the siblings. */
  private readonly place: Int32Array;

  constructor(
    private readonly marks: Marks,
    private readonly spacing: Spacing,
  ) {
    const { count, starts, children } = marks;
    this.prelim = new Float64Array(count);
    this.mod = new Float64Array(count);
    this.shift = new Float64Array(count);
    this.change = new Float64Array(count);
    this.thread = new Int32Array(count).fill(-1);
    this.ancestor = Int32Array.from({ length: count }, (_, mark) => mark);
    this.fallback = new Int32Array(count).fill(-1);
    this.place = new Int32Array(count);
    for (let mark = 0; mark < count; mark++) {
      for (let at = starts[mark]!; at < starts[mark + 1]!; at++) this.place[children[at]!] = at - starts[mark]!;
    }
  }

  run(): TreeLayout {
    const { count, parent, depth } = this.marks;
    for (const mark of postorder(this.marks)) this.placeSubtree(mark);
    const offset = new Float64Array(count);
    const x = new Float32Array(count);
    const y = new Float32Array(count);
    let least = Infinity;
    let most = -Infinity;
    let height = 0;
    // Parents come before children, so one pass from the top adds up the offsets.
    const exact = new Float64Array(count);
    for (let mark = 0; mark < count; mark++) {
      const above = parent[mark]!;
      offset[mark] = above < 0 ? 0 : offset[above]! + this.mod[above]!;
      exact[mark] = this.prelim[mark]! + offset[mark]!;
      least = Math.min(least, exact[mark]!);
      most = Math.max(most, exact[mark]!);
      y[mark] = depth[mark]!;
      height = Math.max(height, depth[mark]!);
    }
    for (let mark = 0; mark < count; mark++) x[mark] = exact[mark]! - least;
    return { x, y, width: count ? most - least : 0, height };
  }

  private placeSubtree(mark: number): void {
    const { starts, children, parent } = this.marks;
    const from = starts[mark]!;
    const to = starts[mark + 1]!;
    const above = parent[mark]!;
    const left = this.place[mark]! > 0 ? children[starts[above]! + this.place[mark]! - 1]! : -1;
    let middle = 0;
    if (to > from) {
      this.applyShifts(mark);
      middle = (this.prelim[children[from]!]! + this.prelim[children[to - 1]!]!) / 2;
    }
    if (left >= 0) {
      this.prelim[mark] = this.prelim[left]! + this.spacing.sibling;
      if (to > from) this.mod[mark] = this.prelim[mark] - middle;
    } else {
      this.prelim[mark] = middle;
    }
    if (above >= 0) {
      const first = children[starts[above]!]!;
      const fallback = this.fallback[above]! < 0 ? first : this.fallback[above]!;
      this.fallback[above] = left < 0 ? fallback : this.apportion(mark, left, first, fallback);
    }
  }

  /** Push the subtree right until no contour of the subtrees on its left touches it. */
  private apportion(mark: number, left: number, first: number, fallback: number): number {
    const { prelim, mod } = this;
    let insideRight = mark;
    let outsideRight = mark;
    let insideLeft = left;
    let outsideLeft = first;
    let insideRightSum = mod[mark]!;
    let outsideRightSum = mod[mark]!;
    let insideLeftSum = mod[left]!;
    let outsideLeftSum = mod[first]!;
    for (;;) {
      const nextLeft = this.rightContour(insideLeft);
      const nextRight = this.leftContour(insideRight);
      if (nextLeft < 0 || nextRight < 0) {
        if (nextLeft >= 0 && this.rightContour(outsideRight) < 0) {
          this.thread[outsideRight] = nextLeft;
          mod[outsideRight]! += insideLeftSum - outsideRightSum;
        }
        if (nextRight >= 0 && this.leftContour(outsideLeft) < 0) {
          this.thread[outsideLeft] = nextRight;
          mod[outsideLeft]! += insideRightSum - outsideLeftSum;
          return mark;
        }
        return fallback;
      }
      insideLeft = nextLeft;
      insideRight = nextRight;
      outsideLeft = this.leftContour(outsideLeft);
      outsideRight = this.rightContour(outsideRight);
      this.ancestor[outsideRight] = mark;
      const gap =
        this.marks.parent[insideLeft] === this.marks.parent[insideRight] ? this.spacing.sibling : this.spacing.cousin;
      const push = prelim[insideLeft]! + insideLeftSum - prelim[insideRight]! - insideRightSum + gap;
      if (push > 0) {
        const candidate = this.ancestor[insideLeft]!;
        const source = this.marks.parent[candidate] === this.marks.parent[mark] ? candidate : fallback;
        this.moveSubtree(source, mark, push);
        insideRightSum += push;
        outsideRightSum += push;
      }
      insideLeftSum += mod[insideLeft]!;
      insideRightSum += mod[insideRight]!;
      outsideLeftSum += mod[outsideLeft]!;
      outsideRightSum += mod[outsideRight]!;
    }
  }

  /** Move a subtree right and spread the move over the siblings between it and `source`. */
  private moveSubtree(source: number, mark: number, push: number): void {
    const share = push / (this.place[mark]! - this.place[source]!);
    this.change[mark]! -= share;
    this.shift[mark]! += push;
    this.change[source]! += share;
    this.prelim[mark]! += push;
    this.mod[mark]! += push;
  }

  private applyShifts(mark: number): void {
    const { starts, children } = this.marks;
    let shift = 0;
    let change = 0;
    for (let at = starts[mark + 1]! - 1; at >= starts[mark]!; at--) {
      const child = children[at]!;
      this.prelim[child]! += shift;
      this.mod[child]! += shift;
      change += this.change[child]!;
      shift += this.shift[child]! + change;
    }
  }

  private leftContour(mark: number): number {
    const { starts, children } = this.marks;
    return starts[mark + 1]! > starts[mark]! ? children[starts[mark]!]! : this.thread[mark]!;
  }

  private rightContour(mark: number): number {
    const { starts, children } = this.marks;
    return starts[mark + 1]! > starts[mark]! ? children[starts[mark + 1]! - 1]! : this.thread[mark]!;
  }
}

/** All marks, each after its children and after its siblings on the left. */
function postorder({ count, starts, children }: Marks): Int32Array {
  const order = new Int32Array(count);
  const stack = new Int32Array(count);
  let height = count ? 1 : 0;
  // A preorder that takes the last child first, written from the end, is the postorder wanted.
  for (let at = count - 1; height > 0; at--) {
    const mark = stack[--height]!;
    order[at] = mark;
    for (let child = starts[mark]!; child < starts[mark + 1]!; child++) stack[height++] = children[child]!;
  }
  return order;
}
