import { hierarchy, tree } from "d3-hierarchy";
import { expect, test } from "vitest";
import { foldRuns } from "./folds";
import { childrenOf, pathTo, shapeOf, siblingPlace } from "./shape";
import { decodeSkeleton, Flag, SkeletonError } from "./skeleton";
import { randomSequence, skeletonOf } from "./skeleton-sample";
import { layOut } from "./tidy-tree";

function base64(values: ArrayLike<number>, Kind: typeof Int32Array | typeof Uint16Array | typeof Uint8Array): string {
  return btoa(String.fromCharCode(...new Uint8Array(Kind.from(values).buffer)));
}

function bush(nodes: number, seed = 7): number[] {
  const random = randomSequence(seed);
  return Array.from({ length: nodes }, (_, at) =>
    at === 0 ? 0 : 1 + Math.floor(Math.max(0, at - 40 * random()) * (0.2 + 0.8 * random())),
  );
}

test("a skeleton is decoded from little-endian columns", () => {
  const answer = {
    nodes: 3,
    revision: 9,
    agents: ["ada", "opus"],
    ids: "a1 b2 c3",
    numbers: base64([1, 3, 70000], Int32Array),
    parents: base64([0, 1, 3], Int32Array),
    positions: "",
    authors: base64([0, 1, 1], Uint16Array),
    kinds: base64([0, 0, 3], Uint8Array),
    flags: base64([0, 2, 33], Uint8Array),
  };
  const skeleton = decodeSkeleton(answer);
  expect([...skeleton.parents]).toEqual([0, 1, 2]);
  expect(skeleton.ids).toEqual(["a1", "b2", "c3"]);
  expect(skeleton.positions).toBeNull();
  expect([...skeleton.flags]).toEqual([0, 2, 33]);
  expect(() => decodeSkeleton({ ...answer, flags: base64([0], Uint8Array) })).toThrow("flags has 1 bytes, expected 3");
});

test("undone nodes, annotations and what hangs below pruned ones are not part of the shape", () => {
  const skeleton = skeletonOf([0, 1, 1, 2, 3, 5], [0, 0, Flag.pruned, Flag.annotation, 0, 0]);
  const shape = shapeOf(skeleton);
  expect(shape.count).toBe(2);
  expect([...childrenOf(shape, 0)]).toEqual([1]);
  const whole = shapeOf(skeleton, { pruned: true });
  expect(whole.count).toBe(5);
  expect(pathTo(whole, 5)).toEqual([0, 2, 4, 5]);
  expect(siblingPlace(whole, 2)).toEqual({ place: 1, of: 2 });
});

test("versions share a position, and the latest is drawn there", () => {
  const shape = shapeOf(skeletonOf([0, 1, 2, 1], [0, Flag.undone, 0, 0], [1, 2, 3, 2]));
  expect(shape.count).toBe(2);
  expect(shape.present[1]).toBe(1);
  expect(shape.latest[1]).toBe(3);
});

test("a hoisted shape begins at its node", () => {
  const shape = shapeOf(skeletonOf([0, 1, 1, 2, 4, 3]), { hoist: 1 });
  expect(shape.count).toBe(3);
  expect(pathTo(shape, 4)).toEqual([1, 3, 4]);
  expect(shape.sizes[1]).toBe(3);
});

test("a skeleton whose child comes before its parent is refused", () => {
  expect(() => shapeOf(skeletonOf([0, 3, 1]))).toThrow(SkeletonError);
});

test("a straight run becomes one mark, its ends and kept nodes stay", () => {
  const parents = Array.from({ length: 30 }, (_, at) => at);
  const shape = shapeOf(skeletonOf(parents));
  const marks = foldRuns(shape, { least: 4, keep: [20] });
  expect([...marks.nodes]).toEqual([1, 19, 1, 8, 1]);
  expect(marks.nodes.reduce((sum, held) => sum + held, 0)).toBe(30);
  expect(marks.markOf[10]).toBe(1);
  expect([...foldRuns(shape, { least: 4, opened: [1] }).nodes]).toEqual(Array.from({ length: 30 }, () => 1));
});

test("a closed node hides its descendants and says how many", () => {
  const shape = shapeOf(skeletonOf([0, 1, 1, 2, 2, 4]));
  const marks = foldRuns(shape, { closed: [1] });
  expect([...marks.first]).toEqual([0, 1, 2]);
  expect([...marks.below]).toEqual([0, 3, 0]);
  expect(marks.markOf[5]).toBe(-1);
});

test("the layout is that of d3-hierarchy", () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const parents = bush(400, seed);
    const shape = shapeOf(skeletonOf(parents));
    const marks = foldRuns(shape, { least: Infinity });
    const layout = layOut(marks, { sibling: 1, cousin: 2 });
    const root = hierarchy<number>(0, (at) => [...childrenOf(shape, at)]);
    tree<number>().nodeSize([1, 1])(root);
    const shared = layout.x[0]! - root.x!;
    root.each((node) => {
      expect(layout.x[marks.markOf[node.data]!]).toBeCloseTo(node.x! + shared, 3);
      expect(layout.y[marks.markOf[node.data]!]).toBe(node.depth);
    });
  }
});

test.each([
  ["bushy", bush(100_000)],
  ["one path", Array.from({ length: 100_000 }, (_, at) => at)],
  [
    "a path with a stub at every node",
    Array.from({ length: 100_000 }, (_, at) => (at === 0 ? 0 : Math.max(1, at - (at % 2 ? 0 : 1)))),
  ],
  ["a star", Array.from({ length: 100_000 }, (_, at) => Math.min(at, 1))],
])("100,000 nodes are laid out without overflowing the stack: %s", (_, parents) => {
  const shape = shapeOf(skeletonOf(parents));
  const marks = foldRuns(shape);
  const layout = layOut(marks);
  expect(layout.x.every(Number.isFinite)).toBe(true);
  expect(marks.nodes.reduce((sum, held) => sum + held, 0)).toBe(100_000);
});
