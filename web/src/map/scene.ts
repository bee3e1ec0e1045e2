/** What a map draws at a viewport: marks, edges and labels in pixels; nothing that is out of sight. */

import { type Box, detailAt, type Detail, type LabelCandidate, type LabelRank, MOST_ELEMENTS, placeLabels } from "../layout/detail";
import type { DrawnTree } from "../layout/drawn-tree";
import type { Tiles } from "../layout/tiles";
import { seen, type Size, toScreen, type Viewport } from "./viewport";

export interface SceneMark {
  mark: number;
  /** The node that the mark is, or that its run begins with. */
  index: number;
  x: number;
  y: number;
  /** More than one: a folded run. */
  nodes: number;
  /** Folded away below. */
  below: number;
  onPath: boolean;
}

export interface SceneEdge {
  mark: number;
  fromX: number;
  fromY: number;
  toX: number;
  toY: number;
  onPath: boolean;
}

export interface SceneLabel {
  index: number;
  x: number;
  y: number;
  text: string;
  strong: boolean;
  /** It lies before the mark, because there is no room after it. */
  before: boolean;
}

export interface Scene {
  detail: Detail;
  marks: SceneMark[];
  edges: SceneEdge[];
  labels: SceneLabel[];
}

export interface LabelSource {
  text: string;
  rank: LabelRank;
}

const CHARACTER = 6.4;
const LINE = 16;
/** From the middle of a mark to its label. */
const OFFSET = 14;

export function composeScene(
  drawn: DrawnTree,
  tiles: Tiles,
  view: Viewport,
  size: Size,
  path: ReadonlySet<number>,
  labelled: ReadonlyMap<number, LabelSource>,
): Scene {
  const { marks, layout } = drawn;
  const detail = detailAt(view.zoom);
  const area = seen(view, size);
  const margin = { left: area.left - 1, right: area.right + 1, top: area.top - 1, bottom: area.bottom + 1 };
  const pathMarks = new Set<number>();
  for (const index of path) if (marks.markOf[index]! >= 0) pathMarks.add(marks.markOf[index]!);
  const place = (mark: number): [number, number] => toScreen(view, size, layout.x[mark]!, layout.y[mark]!);
  const shown = detail === "density" ? pathMarks : new Set(tiles.marksIn(margin));
  if (detail !== "density") {
    for (const mark of pathMarks) if (isInside(layout.x[mark]!, layout.y[mark]!, margin)) shown.add(mark);
  }
  const edgeMarks = detail === "density" ? [...pathMarks] : [...new Set([...tiles.edgesIn(margin), ...pathMarks])];
  const edges = edgeMarks
    .filter((mark) => marks.parent[mark]! >= 0)
    .map((mark): SceneEdge => {
      const [fromX, fromY] = place(marks.parent[mark]!);
      const [toX, toY] = place(mark);
      return { mark, fromX, fromY, toX, toY, onPath: pathMarks.has(mark) };
    });
  const sceneMarks = [...shown].map((mark): SceneMark => {
    const [x, y] = place(mark);
    return { mark, index: marks.first[mark]!, x, y, nodes: marks.nodes[mark]!, below: marks.below[mark]!, onPath: pathMarks.has(mark) };
  });
  const boxes = sceneMarks.length > MOST_ELEMENTS ? [] : sceneMarks.map(({ x, y }) => ({ x: x - 5, y: y - 5, width: 10, height: 10 }));
  return { detail, marks: sceneMarks, edges, labels: composeLabels(drawn, view, size, labelled, margin, boxes) };
}

function isInside(x: number, y: number, area: { left: number; right: number; top: number; bottom: number }): boolean {
  return x >= area.left && x <= area.right && y >= area.top && y <= area.bottom;
}

function composeLabels(
  { marks, layout }: DrawnTree,
  view: Viewport,
  size: Size,
  labelled: ReadonlyMap<number, LabelSource>,
  margin: { left: number; right: number; top: number; bottom: number },
  boxes: readonly Box[],
): SceneLabel[] {
  const candidates: LabelCandidate[] = [];
  const labels = new Map<number, Omit<SceneLabel, "before">>();
  for (const [index, { text, rank }] of labelled) {
    const mark = marks.markOf[index]!;
    if (mark < 0 || !isInside(layout.x[mark]!, layout.y[mark]!, margin)) continue;
    const [x, y] = toScreen(view, size, layout.x[mark]!, layout.y[mark]!);
    const strong = rank === "bookmark" || rank === "here";
    const width = Math.min(180, text.length * CHARACTER + (rank === "bookmark" ? 16 : 0));
    const box = { key: index, y: y - LINE / 2, width, height: LINE, rank };
    if (x + OFFSET + width <= size.width || x < size.width / 2) candidates.push({ ...box, x: x + OFFSET });
    candidates.push({ ...box, x: x - OFFSET - width });
    labels.set(index, { index, x, y, text, strong });
  }
  return placeLabels(candidates, boxes).map(({ key, x: start }) => {
    const label = labels.get(key)!;
    const before = start < label.x;
    return { ...label, before, x: label.x + (before ? -OFFSET : OFFSET) };
  });
}
