import { expect, test } from "vitest";
import { cutOf, outcomesOf, type PlanEntry } from "./context-answer";

const entry = (id: string, outcome: PlanEntry["outcome"], more: Partial<PlanEntry> = {}): PlanEntry => ({
  kind: "node",
  id,
  tokens: 0,
  size: 10,
  outcome,
  reason: "",
  ...more,
});

const entries = [entry("a", "kept"), entry("b", "cut", { count: 3, last: "d", size: 40 }), entry("e", "merged")];

test("a range that was cut is the outcome of every node in it", () => {
  const outcomes = outcomesOf(entries, ["a", "b", "c", "d", "e"]);
  expect([..."abcde"].map((id) => outcomes.get(id)?.outcome)).toEqual(["kept", "cut", "cut", "cut", "merged"]);
});

test("the cut is drawn after its last node, with all that it removed", () => {
  expect(cutOf(entries)).toEqual({ after: "d", nodes: 3, tokens: 40 });
  expect(cutOf([entry("a", "kept")])).toBeNull();
});
