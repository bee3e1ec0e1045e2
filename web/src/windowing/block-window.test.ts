import { expect, test } from "vitest";
import { BlockHeights } from "./block-heights";
import { BlockWindow } from "./block-window";

test("sums and positions of heights agree with adding them up", () => {
  const heights = new BlockHeights(37, (at) => 10 + at);
  const expected = Array.from({ length: 37 }, (_, at) => 10 + at);
  for (const [index, height] of [
    [3, 100],
    [36, 1],
    [0, 55],
    [3, 7],
  ] as const) {
    heights.measure(index, height);
    expected[index] = height;
    let top = 0;
    expected.forEach((each, at) => {
      expect(heights.top(at)).toBeCloseTo(top);
      expect(heights.at(top)).toBe(at);
      expect(heights.at(top + each - 0.5)).toBe(at);
      top += each;
    });
    expect(heights.total).toBeCloseTo(top);
    expect(heights.at(top + 1000)).toBe(36);
  }
});

test("only blocks within two screens are in the page", () => {
  const window = new BlockWindow(100_000, 800, { estimate: 100 });
  window.reveal(50_000);
  const { first, end, above, below } = window.range;
  expect(first).toBe(50_000 - 16);
  expect(end).toBe(50_000 + 24 + 1);
  expect(above + below + (end - first) * 100).toBe(10_000_000);
});

test("measuring what is above the anchor does not move what is read", () => {
  const window = new BlockWindow(1_000, 800, { estimate: 100 });
  window.scrolled(50_000, 502);
  expect(window.anchor).toEqual({ index: 502, offset: 200 });
  expect(window.measure(490, 350)).toBe(true);
  expect(window.measure(502, 300)).toBe(true);
  expect(window.measure(503, 900)).toBe(true);
  expect(window.scrollTop).toBe(50_250);
  expect(window.measure(503, 900)).toBe(false);
});

test("a focused block that is out of sight does not hold the page", () => {
  const window = new BlockWindow(1_000, 800, { estimate: 100 });
  window.scrolled(50_030, 10);
  expect(window.anchor).toEqual({ index: 500, offset: -30 });
});

test("blocks that arrive at the end leave the reader where he is", () => {
  const window = new BlockWindow(10, 800, { estimate: 100 });
  window.measure(2, 700);
  window.scrolled(300);
  const before = window.scrollTop;
  window.replace(14, 10);
  expect(window.scrollTop).toBe(before);
  expect(window.total).toBe(2_000);
  window.replace(1, 1);
  expect(window.range).toEqual({ first: 0, end: 1, above: 0, below: 0 });
  expect(new BlockWindow(0, 800).range.end).toBe(0);
});
