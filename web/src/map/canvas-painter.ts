/** Paint a scene on a canvas: for more marks than elements can be drawn quickly. */

import type { Scene, SceneMark } from "./scene";

export interface Inks {
  page: string;
  line: string;
  accent: string;
  faint: string;
}

export interface MarkLook {
  colour: string;
  square: boolean;
  dimmed: boolean;
  ring: boolean;
}

export function readInks(element: Element): Inks {
  const style = getComputedStyle(element);
  const ink = (name: string): string => style.getPropertyValue(name).trim();
  return { page: ink("--page"), line: ink("--ghost"), accent: ink("--accent"), faint: ink("--ink-3") };
}

export function paintScene(
  context: CanvasRenderingContext2D,
  scene: Scene,
  ratio: number,
  look: (mark: SceneMark) => MarkLook,
  inks: Inks,
): void {
  const { width, height } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  for (const onPath of [false, true]) {
    context.beginPath();
    for (const edge of scene.edges) {
      if (edge.onPath !== onPath) continue;
      const middle = (edge.fromY + edge.toY) / 2;
      context.moveTo(edge.fromX, edge.fromY);
      context.bezierCurveTo(edge.fromX, middle, edge.toX, middle, edge.toX, edge.toY);
    }
    context.lineWidth = onPath ? 2.5 : 1;
    context.strokeStyle = onPath ? inks.accent : inks.line;
    context.stroke();
  }
  // One path for each look: changing the fill is what costs.
  const groups = new Map<string, { look: MarkLook; marks: SceneMark[] }>();
  for (const mark of scene.marks) {
    const style = look(mark);
    const key = `${style.colour}${style.square ? "s" : "r"}${style.dimmed ? "d" : ""}`;
    const group = groups.get(key);
    if (group) group.marks.push(mark);
    else groups.set(key, { look: style, marks: [mark] });
  }
  for (const { look: style, marks } of groups.values()) {
    context.globalAlpha = style.dimmed ? 0.25 : 1;
    context.fillStyle = style.colour;
    context.beginPath();
    for (const { x, y, nodes } of marks) {
      if (nodes > 1) context.rect(x - 5, y - 1.5, 10, 3);
      else if (style.square) context.rect(x - 3.5, y - 3.5, 7, 7);
      else {
        context.moveTo(x + 4, y);
        context.arc(x, y, 4, 0, 2 * Math.PI);
      }
    }
    context.fill();
  }
  context.globalAlpha = 1;
}

/** The whole tree as a grid of shades, for when marks would be smaller than a pixel. */
export function paintDensity(
  context: CanvasRenderingContext2D,
  density: { cells: Uint32Array; most: number },
  columns: number,
  rows: number,
  place: { left: number; top: number; width: number; height: number },
  colour: string,
): void {
  const cellWidth = place.width / columns;
  const cellHeight = place.height / rows;
  context.fillStyle = colour;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const held = density.cells[row * columns + column]!;
      if (held === 0) continue;
      // A single node must be seen beside a thousand.
      context.globalAlpha = 0.18 + 0.62 * (Math.log1p(held) / Math.log1p(density.most));
      context.fillRect(place.left + column * cellWidth, place.top + row * cellHeight, Math.max(1, cellWidth), Math.max(1, cellHeight));
    }
  }
  context.globalAlpha = 1;
}
