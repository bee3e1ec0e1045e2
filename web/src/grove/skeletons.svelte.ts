/** The shapes of the trees in the list, read one after another as their rows come into view. */
import { SvelteMap } from "svelte/reactivity";
import { api } from "../api/client";
import type { Tree } from "../api/values";
import { decodeSkeleton, type Skeleton } from "../layout/skeleton";

/** The shape of a larger tree costs more than its small picture tells. */
const LARGEST = 5_000;

class Skeletons {
  private readonly known = new SvelteMap<string, Skeleton>();
  private readonly asked = new Map<string, string>();
  private queue: Promise<unknown> = Promise.resolve();

  /** The shape as it was last read; an older one stays until the new one is there. */
  of(tree: Tree): Skeleton | undefined {
    return this.known.get(tree.id);
  }

  read(tree: Tree) {
    if (tree.counters.nodes > LARGEST || this.asked.get(tree.id) === tree.updatedAt) return;
    this.asked.set(tree.id, tree.updatedAt);
    this.queue = this.queue.then(async () => {
      try {
        const answer = await api.get("/api/trees/{tree}/skeleton", { path: { tree: tree.id } });
        this.known.set(tree.id, decodeSkeleton(answer));
      } catch {
        // A row without a picture is still a row; it is asked again when the tree changes.
        this.asked.delete(tree.id);
      }
    });
  }
}

export const skeletons = new Skeletons();
