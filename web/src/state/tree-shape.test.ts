import { expect, test } from "vitest";
import type { Skeleton } from "../api/values";
import { Flag, TreeShape } from "./tree-shape";

function packed(kind: typeof Int32Array | typeof Uint16Array | typeof Uint8Array, values: number[]): string {
  return btoa(String.fromCharCode(...new Uint8Array(new kind(values).buffer)));
}

function skeleton(rows: [id: string, parent: number, flags?: number, author?: number][], agents = ["ada"]): Skeleton {
  return {
    nodes: rows.length,
    revision: rows.length,
    agents,
    numbers: "",
    ids: rows.map(([id]) => id).join(" "),
    parents: packed(Int32Array, rows.map(([, parent]) => parent)),
    positions: "",
    authors: packed(Uint16Array, rows.map(([, , , author = 0]) => author)),
    kinds: packed(Uint8Array, rows.map(() => 0)),
    flags: packed(Uint8Array, rows.map(([, , flags = 0]) => flags)),
  };
}

const shape = TreeShape.decode(
  skeleton([["root", 0], ["a", 1], ["b", 1], ["c", 2], ["gone", 1, Flag.pruned], ["note", 2, Flag.annotation]]),
);

test("a path runs from the root to a node", () => {
  expect(shape.path(shape.row("c")).map((row) => shape.id(row))).toEqual(["root", "a", "c"]);
  expect(shape.depth(shape.row("c"))).toBe(2);
});

test("pruned nodes and annotations are not among the children", () => {
  expect(shape.children(1)).toEqual([2, 3]);
  expect(shape.children(2)).toEqual([4]);
  expect(shape.annotations(2)).toEqual([6]);
  expect(shape.countBelow(1)).toBe(3);
});

test("a pruned node that is being read is among its siblings", () => {
  expect(shape.siblings(5)).toEqual([2, 3, 5]);
});

test("nodes that were added since are appended, whoever wrote them", () => {
  const rest = skeleton([["d", 4, 0, 0], ["e", 9, 0, 1]], ["opus", "ada"]);
  const grown = shape.extended({ ...rest, numbers: packed(Int32Array, [9, 12]) });
  expect(grown.lastNumber).toBe(12);
  expect(grown.path(grown.row("e")).map((row) => grown.id(row))).toEqual(["root", "a", "c", "d", "e"]);
  expect(grown.author(grown.row("d"))).toBe("opus");
  expect(grown.author(grown.row("e"))).toBe("ada");
});
