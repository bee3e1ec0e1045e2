/** What is asked of the layout worker, and the work itself: decode, shape, fold, lay out. */

import { foldRuns, type FoldOptions, type Marks } from "./folds";
import { shapeOf, type Shape, type ShapeOptions } from "./shape";
import { decodeSkeleton, type Skeleton, type SkeletonAnswer } from "./skeleton";
import { layOut, type TreeLayout } from "./tidy-tree";

export interface LayoutRequest {
  tree: string;
  /** The answer of the server, or null if the worker has this revision already. */
  answer: SkeletonAnswer | null;
  shape: ShapeOptions;
  fold: FoldOptions;
}

export interface DrawnTree {
  tree: string;
  skeleton: Skeleton;
  shape: Shape;
  marks: Marks;
  layout: TreeLayout;
}

export class LayoutCache {
  private readonly skeletons = new Map<string, Skeleton>();
  private readonly drawn = new Map<string, DrawnTree>();

  /** The revision of a tree that needs no new answer, if any. */
  revision(tree: string): number | undefined {
    return this.skeletons.get(tree)?.revision;
  }

  draw(request: LayoutRequest): DrawnTree {
    const { tree, answer } = request;
    const known = this.skeletons.get(tree);
    let skeleton = known;
    if (answer && answer.revision !== known?.revision) {
      skeleton = decodeSkeleton(answer);
      this.forget(tree);
      this.skeletons.set(tree, skeleton);
    }
    if (!skeleton) throw new Error(`the skeleton of ${tree} is not loaded`);
    const key = `${tree} ${JSON.stringify([request.shape, spread(request.fold)])}`;
    const before = this.drawn.get(key);
    if (before) return before;
    const shape = shapeOf(skeleton, request.shape);
    const marks = foldRuns(shape, request.fold);
    const drawn = { tree, skeleton, shape, marks, layout: layOut(marks) };
    this.drawn.set(key, drawn);
    return drawn;
  }

  /** Closed trees drop their arrays. */
  forget(tree: string): void {
    this.skeletons.delete(tree);
    for (const key of this.drawn.keys()) if (key.startsWith(`${tree} `)) this.drawn.delete(key);
  }
}

function spread(fold: FoldOptions): unknown {
  return [fold.least, [...(fold.keep ?? [])], [...(fold.closed ?? [])], [...(fold.opened ?? [])]];
}
