/** What part of a layout is seen, and how large. */

import type { View } from "../layout/tiles";

/** Pixels between siblings and between levels at 100 %. */
export const UNIT = { x: 86, y: 70 } as const;
export const LEAST_ZOOM = 0.01;
export const MOST_ZOOM = 2.5;

/** The point of the layout in the middle of the screen, and the zoom. */
export interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

export interface Size {
  width: number;
  height: number;
}

export function toScreen(view: Viewport, size: Size, x: number, y: number): [number, number] {
  return [(x - view.x) * UNIT.x * view.zoom + size.width / 2, (y - view.y) * UNIT.y * view.zoom + size.height / 2];
}

export function toLayout(view: Viewport, size: Size, x: number, y: number): [number, number] {
  return [(x - size.width / 2) / (UNIT.x * view.zoom) + view.x, (y - size.height / 2) / (UNIT.y * view.zoom) + view.y];
}

export function seen(view: Viewport, size: Size): View {
  const [left, top] = toLayout(view, size, 0, 0);
  const [right, bottom] = toLayout(view, size, size.width, size.height);
  return { left, top, right, bottom };
}

/** Zoom so that the point under the pointer stays under it. */
export function zoomAt(view: Viewport, size: Size, zoom: number, x = size.width / 2, y = size.height / 2): Viewport {
  const next = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, zoom));
  const [px, py] = toLayout(view, size, x, y);
  const [left, top] = [(x - size.width / 2) / (UNIT.x * next), (y - size.height / 2) / (UNIT.y * next)];
  return { x: px - left, y: py - top, zoom: next };
}

/** The whole layout in view, at most at half size. */
export function fitAll(width: number, height: number, size: Size, margin = 56): Viewport {
  const across = (size.width - 2 * margin) / ((width || 1) * UNIT.x);
  const down = (size.height - 2 * margin) / ((height || 1) * UNIT.y);
  const zoom = Math.max(LEAST_ZOOM, Math.min(0.5, across, down));
  return { x: width / 2, y: height / 2, zoom };
}
