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

/** The labels that are shown: by rank, then in the order given, each only if it touches none before it. */
export function placeLabels(candidates: readonly LabelCandidate[], gap = 4, most = 400): LabelCandidate[] {
  const order = candidates
    .map((label, at) => ({ label, at, rank: LABEL_RANKS.indexOf(label.rank) }))
    .sort((one, other) => one.rank - other.rank || one.at - other.at);
  const taken = new Map<string, LabelCandidate[]>();
  const placed: LabelCandidate[] = [];
  for (const { label } of order) {
    if (placed.length >= most) break;
    const cells = cellsOf(label, gap);
    if (cells.some((cell) => taken.get(cell)?.some((other) => touches(label, other, gap)))) continue;
    placed.push(label);
    for (const cell of cells) {
      const there = taken.get(cell);
      if (there) there.push(label);
      else taken.set(cell, [label]);
    }
  }
  return placed;
}

function touches(one: LabelCandidate, other: LabelCandidate, gap: number): boolean {
  return (
    one.x < other.x + other.width + gap &&
    other.x < one.x + one.width + gap &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}

function cellsOf(label: LabelCandidate, gap: number): string[] {
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
