import { expect, test } from "vitest";
import type { ContextAnswer, PlanEntry } from "../api/context-answer";
import { differenceOf } from "./request-difference";

function answer(ids: string[], cut: string[] = [], system = ""): ContextAnswer {
  const entry = (id: string, outcome: PlanEntry["outcome"]): PlanEntry => ({ kind: "node", id, tokens: 1, size: 1, outcome, reason: "" });
  return {
    system,
    messages: ids,
    tokens: ids.length,
    removedNodes: cut.length,
    manifest: { settings: {}, hash: "", entries: [...ids.map((id) => entry(id, "kept")), ...cut.map((id) => entry(id, "cut"))] },
  } as unknown as ContextAnswer;
}

const names = (entries: PlanEntry[]) => entries.map(({ id }) => id);

test("a request that goes on where the other ended keeps its prefix", () => {
  const difference = differenceOf(answer(["a", "b"]), answer(["a", "b", "c"]));
  expect(difference).toMatchObject({ tokens: 1, sameMessages: 2, isPrefix: true });
  expect(names(difference.added)).toEqual(["c"]);
  expect(difference.gone).toEqual([]);
});

test("what is cut in one of them is gone, and the prefix ends there", () => {
  const difference = differenceOf(answer(["a", "b", "c"]), answer(["a", "c"], ["b"]));
  expect(names(difference.gone)).toEqual(["b"]);
  expect(difference).toMatchObject({ sameMessages: 1, isPrefix: false, cutBefore: 0, cutNow: 1 });
});

test("another system context has nothing in common from the start", () => {
  expect(differenceOf(answer(["a"], [], "x"), answer(["a"], [], "y")).sameMessages).toBe(0);
});
