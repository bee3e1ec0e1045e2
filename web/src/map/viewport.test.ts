import { expect, test } from "vitest";
import { fitAll, seen, toLayout, toScreen, zoomAt } from "./viewport";

const size = { width: 1000, height: 600 };

test("a point of the screen is the same point of the layout", () => {
  const view = { x: 12, y: 7, zoom: 0.4 };
  const [x, y] = toScreen(view, size, 15, 9);
  expect(toLayout(view, size, x, y).map((each) => Math.round(each * 1e6) / 1e6)).toEqual([15, 9]);
});

test("zooming keeps what is under the pointer there", () => {
  const before = { x: 12, y: 7, zoom: 0.4 };
  const after = zoomAt(before, size, 1.1, 200, 150);
  toLayout(before, size, 200, 150).forEach((each, at) => expect(toLayout(after, size, 200, 150)[at]).toBeCloseTo(each));
  expect(zoomAt(before, size, 100).zoom).toBe(2.5);
});

test("all of a layout is in view", () => {
  const view = fitAll(300, 20, size);
  const { left, right, top, bottom } = seen(view, size);
  expect(left).toBeLessThan(0);
  expect(right).toBeGreaterThan(300);
  expect(top).toBeLessThan(0);
  expect(bottom).toBeGreaterThan(20);
  expect(fitAll(0, 0, size).zoom).toBe(0.5);
});
