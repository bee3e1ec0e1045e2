import { expect, test } from "vitest";
import { Flag } from "../layout/skeleton";
import { skeletonOf } from "../layout/skeleton-sample";
import { authorsOf, HEIGHT, linesOf, pictureOf, WIDTH } from "./tree-picture";

const inside = (path: string) => [...path.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].every(([, x, y]) => Number(x) <= WIDTH && Number(y) <= HEIGHT);

test("a picture stays in its frame however deep and bushy the tree is", () => {
  const deep = Array.from({ length: 3_000 }, (_, at) => at);
  const bushy = Array.from({ length: 3_000 }, (_, at) => (at === 0 ? 0 : 1 + Math.floor((at - 1) / 9)));
  for (const parents of [deep, bushy, [0]]) {
    const picture = pictureOf(skeletonOf(parents))!;
    expect(inside(picture.ways + picture.path)).toBe(true);
    expect(picture.end.y).toBeLessThanOrEqual(HEIGHT);
    expect(picture.ways.length + picture.path.length).toBeLessThan(5_000);
  }
});

test("the picture ends at the newest leaf, in its author's colour", () => {
  const skeleton = { ...skeletonOf([0, 1, 1]), agents: ["ada", "opus"], authors: Uint16Array.from([0, 0, 1]) };
  expect(pictureOf(skeleton)!.end.author).toBe("opus");
});

test("authors come in the order of how much they wrote, without what was undone", () => {
  const skeleton = { ...skeletonOf([0, 1, 2, 3], [0, 0, 0, Flag.undone]), agents: ["ada", "opus"], authors: Uint16Array.from([0, 1, 1, 0]) };
  expect(authorsOf(skeleton)).toEqual(["opus", "ada"]);
});

test("a document is drawn as lines within the frame", () => {
  const lines = linesOf(skeletonOf(Array.from({ length: 40 }, (_, at) => at)));
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.every(({ x, y, width }) => x + width <= WIDTH && y <= HEIGHT)).toBe(true);
});
