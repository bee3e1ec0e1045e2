/** Levels of detail of a map, and which labels there is room for. */

export type Detail = "density" | "dots" | "cards";

/** The zoom is the share of the full size: 1 is cards at reading size. */
export function detailAt(zoom: number): Detail {
  if (zoom < 0.3) return "density";
  return zoom <= 0.8 ? "dots" : "cards";
}

/** Above so many marks in view, they are painted on a canvas instead of being elements. */
export const MOST_ELEMENTS = 1_500;

export interface LabelCandidate {
  key: number;
  /** Where the label begins, in pixels. */
  x: number;
  y: number;
  width: number;
  height: number;
  rank: LabelRank;
}

/** The most important first. */
export const LABEL_RANKS = ["here", "bookmark", "unread", "branch point", "path", "other"] as const;
export type LabelRank = (typeof LABEL_RANKS)[number];

const CELL = 64;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * The labels that are shown: by rank, then in the order given, each only if it touches none before it and no obstacle.
 *
 * Several candidates with one key are places for the same label: the first that is free is taken.
 */
export function placeLabels(
  candidates: readonly LabelCandidate[],
  obstacles: readonly Box[] = [],
  gap = 4,
  most = 400,
): LabelCandidate[] {
  const order = candidates
    .map((label, at) => ({ label, at, rank: LABEL_RANKS.indexOf(label.rank) }))
    .sort((one, other) => one.rank - other.rank || one.at - other.at);
  const taken = new Map<string, Box[]>();
  const placed: LabelCandidate[] = [];
  const done = new Set<number>();
  const occupy = (box: Box, cells: string[]): void => {
    for (const cell of cells) {
      const there = taken.get(cell);
      if (there) there.push(box);
      else taken.set(cell, [box]);
    }
  };
  for (const box of obstacles) occupy(box, cellsOf(box, 0));
  for (const { label } of order) {
    if (placed.length >= most) break;
    if (done.has(label.key)) continue;
    const cells = cellsOf(label, gap);
    if (cells.some((cell) => taken.get(cell)?.some((other) => touches(label, other, gap)))) continue;
    placed.push(label);
    done.add(label.key);
    occupy(label, cells);
  }
  return placed;
}

function touches(one: Box, other: Box, gap: number): boolean {
  return (
    one.x < other.x + other.width + gap &&
    other.x < one.x + one.width + gap &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}

function cellsOf(label: Box, gap: number): string[] {
  const cells: string[] = [];
  for (
    let column = Math.floor((label.x - gap) / CELL);
    column <= Math.floor((label.x + label.width + gap) / CELL);
    column++
  ) {
    for (let row = Math.floor(label.y / CELL); row <= Math.floor((label.y + label.height) / CELL); row++) {
      cells.push(`${column},${row}`);
    }
  }
  return cells;
}
