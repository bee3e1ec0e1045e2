/** Layouts by revision: asked of the worker once, then kept while the tree is open. */

import type { DrawingOptions, DrawnTree } from "./drawn-tree";
import type { LayoutAnswer, LayoutRequest } from "./layout.worker";
import type { ShapeColumns } from "./shape";

export interface LaidOutTree extends ShapeColumns {
  revision: number;
}

interface Waiting {
  resolve: (drawn: DrawnTree) => void;
  reject: (error: Error) => void;
}

export class Layouts {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private readonly drawn = new Map<string, Promise<DrawnTree>>();
  private next = 1;

  /** The layout of a tree; the same promise for the same revision and options. */
  draw(tree: string, columns: LaidOutTree, options: DrawingOptions): Promise<DrawnTree> {
    const key = `${tree} ${columns.revision} ${keyOf(options)}`;
    const known = this.drawn.get(key);
    if (known) return known;
    for (const old of this.drawn.keys()) if (!old.startsWith(`${tree} ${columns.revision} `)) this.drawn.delete(old);
    const asked = this.ask(columns, options);
    this.drawn.set(key, asked);
    asked.catch(() => this.drawn.delete(key));
    return asked;
  }

  private ask({ nodes, parents, positions, flags }: ShapeColumns, options: DrawingOptions): Promise<DrawnTree> {
    const worker = (this.worker ??= this.start());
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      worker.postMessage({ id, columns: { nodes, parents, positions, flags }, options } satisfies LayoutRequest);
    });
  }

  private start(): Worker {
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<LayoutAnswer>) => {
      const waiting = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if ("drawn" in data) waiting?.resolve(data.drawn);
      else waiting?.reject(new Error(data.problem));
    };
    worker.onerror = (event) => {
      for (const { reject } of this.waiting.values()) reject(new Error(event.message || "the layout failed"));
      this.waiting.clear();
      this.worker = null;
    };
    return worker;
  }
}

function keyOf({ shape, fold }: DrawingOptions): string {
  const lists = [fold?.keep, fold?.closed, fold?.opened].map((each) => [...(each ?? [])]);
  return JSON.stringify([shape?.hoist, shape?.pruned, fold?.least, lists]);
}

export const layouts = new Layouts();
