/** The small picture of a tree in the list: its shape with the longest way drawn, or its lines by author. */
import { childrenOf, pathTo, type Shape, shapeOf } from "../layout/shape";
import { Flag, type Skeleton } from "../layout/skeleton";

export const WIDTH = 68;
export const HEIGHT = 44;
const MARGIN = 4;
/** More would not be seen in so small a picture. */
const LEVELS = 13;
const MARKS = 60;
const LINES = 6;

export interface TreePicture {
  /** Ways that are not on the path, as one line. */
  ways: string;
  dots: string;
  path: string;
  /** The end of the path, and who wrote it. */
  end: { x: number; y: number; author: string };
}

export interface TextLine {
  x: number;
  y: number;
  width: number;
  author: string;
}

/** Authors, the most frequent first. */
export function authorsOf({ nodes, authors, agents, flags }: Skeleton): string[] {
  const counts = new Map<string, number>();
  for (let row = 0; row < nodes; row++) {
    const name = agents[authors[row]!];
    if (name !== undefined && !(flags[row]! & Flag.undone)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort((one, other) => other[1] - one[1]).map(([name]) => name);
}

/** The last levels of the latest path with what branches off beside it. */
export function pictureOf(skeleton: Skeleton): TreePicture | null {
  const shape = shapeOf(skeleton);
  if (shape.count === 0) return null;
  const last = lastRow(shape);
  const path = thin(pathTo(shape, last), LEVELS);
  const places = place(shape, path);
  const at = (row: number) => places.get(row)!;
  let ways = "";
  let dots = "";
  const drawn = new Set(path);
  for (const [row, { x, y, above }] of places) {
    if (drawn.has(row) || above < 0) continue;
    ways += line(at(above), { x, y });
    dots += `M${x.toFixed(1)} ${y.toFixed(1)}h.01`;
  }
  const steps = path.slice(1).map((row, index) => line(at(path[index]!), at(row)));
  const end = at(path.at(-1)!);
  return { ways, dots, path: steps.join(""), end: { x: end.x, y: end.y, author: skeleton.agents[skeleton.authors[shape.latest[last]!]!] ?? "" } };
}

/** A document as lines, each piece in the colour of the node that it is. */
export function linesOf(skeleton: Skeleton): TextLine[] {
  const shape = shapeOf(skeleton);
  if (shape.count === 0) return [];
  const lines: TextLine[] = [];
  let x = 6;
  let y = 6;
  for (const position of thin(pathTo(shape, lastRow(shape)), 24)) {
    const author = skeleton.agents[skeleton.authors[shape.latest[position]!]!] ?? "";
    const width = 6 + ((position * 7) % 15);
    if (x + width > WIDTH - 8) {
      x = 6;
      y += 6.4;
    }
    if (y > LINES * 6.4) break;
    lines.push({ x, y, width, author });
    x += width + 2;
  }
  return lines;
}

function lastRow(shape: Shape): number {
  for (let row = shape.present.length - 1; row > 0; row--) {
    if (shape.present[row] && childrenOf(shape, row).length === 0) return row;
  }
  return shape.root;
}

/** At most so many of them, evenly; the first and the last stay. */
function thin(rows: number[], most: number): number[] {
  if (rows.length <= most) return rows;
  return Array.from({ length: most }, (_, index) => rows[Math.round((index * (rows.length - 1)) / (most - 1))]!);
}

function place(shape: Shape, path: number[]): Map<number, { x: number; y: number; above: number }> {
  const places = new Map<number, { x: number; y: number; above: number }>();
  const step = path.length > 1 ? (HEIGHT - 2 * MARGIN) / (path.length - 1) : 0;
  let x = WIDTH / 2;
  path.forEach((row, level) => {
    const y = MARGIN + level * step;
    places.set(row, { x, y, above: path[level - 1] ?? -1 });
    const next = path[level + 1];
    if (next === undefined || places.size > MARKS) return;
    const children = [...childrenOf(shape, row)];
    const mine = Math.max(0, children.findIndex((child) => child === next || shape.sizes[child]! > 1));
    const spread = Math.min(13, 34 / Math.max(1, children.length));
    children.slice(0, 5).forEach((child, index) => {
      if (child === next || index === mine) return;
      const beside = clamp(x + (index - mine) * spread);
      places.set(child, { x: beside, y: y + step, above: row });
    });
    if (children.length > 1) x = clamp(x + (mine - (children.length - 1) / 2) * spread * 0.6);
  });
  return places;
}

function clamp(x: number): number {
  return Math.min(WIDTH - MARGIN, Math.max(MARGIN, x));
}

function line(from: { x: number; y: number }, to: { x: number; y: number }): string {
  return `M${from.x.toFixed(1)} ${from.y.toFixed(1)}L${to.x.toFixed(1)} ${to.y.toFixed(1)}`;
}
