import { expect, test } from "vitest";
import type { Tree } from "../api/values";
import { filterQuery, listed, readFilter } from "./tree-filter";

function tree(id: string, more: Partial<Tree> = {}): Tree {
  return { id, title: id, mode: "dialogue", project: null, archivedAt: null, counters: { nodes: 1, branches: 1, depth: 0 }, ...more } as Tree;
}

test("a filter is read from the address and written back", () => {
  const query = new URLSearchParams("mode=buffer&tag=door&archived=1&order=size");
  const filter = readFilter(query);
  expect(filter).toEqual({ mode: "buffer", project: "", tag: "door", archived: true, order: "size" });
  expect(filterQuery(filter)).toEqual({ mode: "buffer", project: null, tag: "door", archived: "1", order: "size" });
});

test("unknown values of the address mean no filter", () => {
  expect(readFilter(new URLSearchParams("mode=poem&order=mood&archived=yes"))).toEqual(readFilter(new URLSearchParams()));
});

test("archived trees are listed by themselves", () => {
  const trees = [tree("a"), tree("b", { archivedAt: "2026-01-01T00:00:00Z" })];
  expect(listed(trees, readFilter(new URLSearchParams()), undefined).map(({ id }) => id)).toEqual(["a"]);
  expect(listed(trees, readFilter(new URLSearchParams("archived=1")), undefined).map(({ id }) => id)).toEqual(["b"]);
});

test("mode, tag and order together choose and sort", () => {
  const trees = [tree("c"), tree("a", { mode: "buffer" }), tree("b")];
  const filter = readFilter(new URLSearchParams("mode=dialogue&tag=t&order=title"));
  expect(listed(trees, filter, new Set(["a", "b", "c"])).map(({ id }) => id)).toEqual(["b", "c"]);
  expect(listed(trees, filter, undefined)).toEqual([]);
});
