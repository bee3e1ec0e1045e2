import { expect, test } from "vitest";
import { mergeRequest, moved, placeOf, previewQuery, problemOf, type MergeSource } from "./merge-plan";

const sources: MergeSource[] = [
  { id: "c4m2", role: "primary" },
  { id: "c5k1", role: "context" },
  { id: "c7r2", role: "primary" },
  { id: "d0a5", role: "instruction" },
];

test("each source says where it will be", () => {
  expect(sources.map((_, at) => placeOf(sources, at))).toEqual([
    "its own message; the new node’s parent",
    "reference block before your message",
    "reference block, after the context",
    "end of the system text",
  ]);
});

test("two primary sources are merged, the others are further sources", () => {
  expect(mergeRequest(sources, "Both.")).toEqual({
    path: "merge",
    body: { nodes: ["c4m2", "c7r2"], content: "Both.", sources: [{ node: "c5k1", role: "context" }, { node: "d0a5", role: "instruction" }] },
  });
});

test("one primary source is the parent of a new node", () => {
  expect(mergeRequest(sources.slice(0, 2), "On.")).toEqual({ path: "nodes", body: { parent: "c4m2", content: "On.", sources: [{ node: "c5k1", role: "context" }] } });
});

test("the plan is asked with the same sources", () => {
  expect(previewQuery(sources, "Both.", "")).toEqual({ node: "c4m2", query: { text: "Both.", context: ["c5k1", "c7r2"], instructions: ["d0a5"] } });
});

test("what is missing is said", () => {
  expect(problemOf(sources)).toBe("");
  expect(problemOf(sources.slice(0, 1))).toContain("add another");
  expect(problemOf(sources.filter(({ role }) => role !== "primary"))).toContain("primary");
});

test("sources move up and down, not beyond the ends", () => {
  expect(moved(sources, 1, -1).map(({ id }) => id)).toEqual(["c5k1", "c4m2", "c7r2", "d0a5"]);
  expect(moved(sources, 0, -1)).toEqual(sources);
});
