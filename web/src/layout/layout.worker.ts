/** The worker that lays trees out. */

import { buffersOf, drawTree, type DrawingOptions, type DrawnTree } from "./drawn-tree";
import type { ShapeColumns } from "./shape";

export interface LayoutRequest {
  id: number;
  columns: ShapeColumns;
  options: DrawingOptions;
}

export type LayoutAnswer = { id: number; drawn: DrawnTree } | { id: number; problem: string };

const worker = self as unknown as DedicatedWorkerGlobalScope;

worker.onmessage = ({ data }: MessageEvent<LayoutRequest>) => {
  try {
    const drawn = drawTree(data.columns, data.options);
    worker.postMessage({ id: data.id, drawn } satisfies LayoutAnswer, buffersOf(drawn));
  } catch (error) {
    worker.postMessage({ id: data.id, problem: (error as Error).message } satisfies LayoutAnswer);
  }
};
