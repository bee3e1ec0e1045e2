import { expect, test } from "vitest";
import { detailAt, placeLabels, type LabelCandidate } from "./detail";
import { foldRuns } from "./folds";
import { rowsFromHere } from "./from-here";
import { buffersOf, drawTree } from "./drawn-tree";
import { shapeOf } from "./shape";
import { randomSequence, skeletonOf } from "./skeleton-sample";
import { layOut } from "./tidy-tree";
import { Tiles } from "./tiles";
import { LastVisited, step } from "./walk";

function drawn(parents: number[]) {
  const shape = shapeOf(skeletonOf(parents));
  const marks = foldRuns(shape, { least: Infinity });
  const layout = layOut(marks);
  return { shape, marks, layout, tiles: new Tiles(marks, layout) };
}

test("tiles give exactly the marks in view", () => {
  const random = randomSequence(4);
  const { marks, layout, tiles } = drawn(
    Array.from({ length: 3_000 }, (_, at) => (at === 0 ? 0 : 1 + Math.floor(random() * at))),
  );
  for (let round = 0; round < 20; round++) {
    const left = random() * layout.width;
    const top = random() * layout.height;
    const view = { left, top, right: left + random() * 200, bottom: top + random() * 6 };
    const expected = Array.from({ length: marks.count }, (_, mark) => mark).filter(
      (mark) =>
        layout.x[mark]! >= view.left &&
        layout.x[mark]! <= view.right &&
        layout.y[mark]! >= view.top &&
        layout.y[mark]! <= view.bottom,
    );
    expect([...tiles.marksIn(view)].sort((one, other) => one - other)).toEqual(expected);
    expect(tiles.count(view)).toBeGreaterThanOrEqual(expected.length);
    const crossing = expected.filter((mark) => marks.parent[mark]! >= 0);
    expect([...tiles.edgesIn(view, Infinity)]).toEqual(expect.arrayContaining(crossing));
  }
  expect(tiles.marksIn({ left: 0, top: 0, right: Infinity, bottom: Infinity }, 100)).toHaveLength(100);
  const { cells } = tiles.density(20, 20);
  expect(cells.reduce((sum, held) => sum + held, 0)).toBe(3_000);
});

test("an edge that crosses the view is found though both its ends are outside", () => {
  const { layout, tiles, marks } = drawn(Array.from({ length: 400 }, (_, at) => Math.min(at, 1)));
  const first = marks.children[0]!;
  const between = (layout.x[0]! + layout.x[first]!) / 2;
  const edges = tiles.edgesIn({ left: between - 1, right: between + 1, top: 0.3, bottom: 0.6 }, Infinity);
  expect([...edges]).toContain(first);
});

test("the nearest mark is found within reach only", () => {
  const { layout, tiles } = drawn([0, 1, 1, 1]);
  expect(tiles.nearest(layout.x[2]! + 0.1, 1.1, 0.5)).toBe(2);
  expect(tiles.nearest(layout.x[2]! + 0.1, 3, 0.5)).toBe(-1);
});

test("labels are placed by rank until they would touch", () => {
  const label = (key: number, x: number, rank: LabelCandidate["rank"]): LabelCandidate => ({
    key,
    x,
    y: 10,
    width: 80,
    height: 16,
    rank,
  });
  const placed = placeLabels([
    label(1, 30, "other"),
    label(2, 40, "bookmark"),
    label(3, 100, "here"),
    label(4, 300, "other"),
  ]);
  expect(placed.map(({ key }) => key)).toEqual([3, 4]);
  expect(placeLabels([label(1, 0, "other"), label(2, 90, "other")]).map(({ key }) => key)).toEqual([1, 2]);
  const obstacle = { x: 20, y: 12, width: 6, height: 6 };
  expect(placeLabels([label(1, 0, "other"), { ...label(1, -100, "other") }], [obstacle]).map(({ x }) => x)).toEqual([-100]);
  expect([0.1, 0.3, 0.8, 0.81].map(detailAt)).toEqual(["density", "dots", "dots", "cards"]);
});

test("from here: siblings are stubs on their side, a straight run is one row", () => {
  // 1 → 2, 3, 4; 3 → 5 → … → 24 straight
  const parents = [0, 1, 1, 1, 3, ...Array.from({ length: 19 }, (_, at) => at + 5)];
  const shape = shapeOf(skeletonOf(parents));
  const rows = rowsFromHere(shape, 23, { near: 2 });
  expect(rows).toEqual([
    { kind: "node", index: 0, depth: 0, left: [], right: [], more: 0, children: 3 },
    { kind: "node", index: 2, depth: 1, left: [1], right: [3], more: 0, children: 1 },
    { kind: "run", first: 4, last: 21, depth: 2, nodes: 18 },
    { kind: "node", index: 22, depth: 20, left: [], right: [], more: 0, children: 1 },
    { kind: "node", index: 23, depth: 21, left: [], right: [], more: 0, children: 0 },
  ]);
  const opened = rowsFromHere(shape, 23, { near: 2, opened: new Set([4]) });
  expect(opened).toHaveLength(22);
  expect(rowsFromHere(shape, 23, { near: 2, keep: new Set([10]) }).map((row) => row.kind)).toEqual([
    "node",
    "node",
    "run",
    "node",
    "run",
    "node",
    "node",
  ]);
  expect(rowsFromHere(shape, 2, { end: 23, near: 1 }).map((row) => row.kind)).toEqual(["node", "node", "run", "node"]);
});

test("many siblings are stubs up to a number, the rest are counted", () => {
  const shape = shapeOf(skeletonOf([0, ...Array.from({ length: 20 }, () => 1)]));
  const row = rowsFromHere(shape, 10)[1];
  expect(row).toMatchObject({ left: [6, 7, 8, 9], right: [11, 12, 13, 14], more: 11 });
});

test("going down goes where the reader went", () => {
  const shape = shapeOf(skeletonOf([0, 1, 1, 2, 3, 3]));
  const visited = new LastVisited();
  expect(step(shape, 0, "child", visited)).toBe(1);
  visited.visit(shape, 5);
  expect(step(shape, 0, "child", visited)).toBe(2);
  expect(step(shape, 2, "child", visited)).toBe(5);
  expect(step(shape, 5, "previous sibling", visited)).toBe(4);
  expect(step(shape, 4, "previous sibling", visited)).toBe(4);
  expect(step(shape, 5, "branch above", visited)).toBe(2);
  expect(step(shape, 0, "branch below", visited)).toBe(2);
  expect(step(shape, 0, "parent", visited)).toBe(0);
});

test("a drawn tree can be handed over whole", () => {
  const drawn = drawTree(skeletonOf([0, 1, 2, 2]), { shape: { hoist: 1 } });
  expect(drawn.marks.count).toBe(3);
  expect(new Set(buffersOf(drawn)).size).toBe(buffersOf(drawn).length);
});
