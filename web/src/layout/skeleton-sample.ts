/** Skeletons for tests. */

import type { Skeleton } from "./skeleton";

export function skeletonOf(parents: number[], flags: number[] = [], positions: number[] | null = null): Skeleton {
  const nodes = parents.length;
  return {
    nodes,
    revision: 1,
    agents: ["a"],
    ids: parents.map((_, at) => `n${at + 1}`),
    numbers: Int32Array.from(parents, (_, at) => at + 1),
    parents: Int32Array.from(parents),
    positions: positions && Int32Array.from(positions),
    authors: new Uint16Array(nodes),
    kinds: new Uint8Array(nodes),
    flags: Uint8Array.from({ length: nodes }, (_, at) => flags[at] ?? 0),
  };
}

/** A reproducible sequence of numbers in [0, 1). */
export function randomSequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
