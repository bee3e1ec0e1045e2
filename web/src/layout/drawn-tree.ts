/** A tree ready to be drawn: shape, marks and places; computed in a worker, once for a revision. */

import { foldRuns, type FoldOptions, type Marks } from "./folds";
import { shapeOf, type Shape, type ShapeColumns, type ShapeOptions } from "./shape";
import { layOut, type TreeLayout } from "./tidy-tree";

export interface DrawnTree {
  shape: Shape;
  marks: Marks;
  layout: TreeLayout;
}

export interface DrawingOptions {
  shape?: ShapeOptions;
  fold?: FoldOptions;
}

export function drawTree(columns: ShapeColumns, { shape: shaping, fold }: DrawingOptions = {}): DrawnTree {
  const shape = shapeOf(columns, shaping);
  const marks = foldRuns(shape, fold);
  return { shape, marks, layout: layOut(marks) };
}

/** The arrays of a drawn tree, which are handed over instead of being copied. */
export function buffersOf({ shape, marks, layout }: DrawnTree): ArrayBuffer[] {
  const values: unknown[] = [shape, marks, layout].flatMap((each) => Object.values(each) as unknown[]);
  return values.filter((each) => ArrayBuffer.isView(each)).map((each) => each.buffer as ArrayBuffer);
}
