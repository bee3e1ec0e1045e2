import { expect, test } from "vitest";
import { type Step, stepLines } from "./run-steps";

const step = (kind: string, body: Record<string, unknown>, turn = 1): Step => ({ step: 1, turn, kind, body });

test("steps become the lines of a log, and a tool ends in its own line", () => {
  expect(
    stepLines([
      step("turn", { turn: 1 }),
      step("command", { text: "→ annotate c4m2: keep" }),
      step("result", { ok: false, text: "no such node", code: "NOT_FOUND", nodes: [] }),
      step("tool", { call: { name: "search" } }),
      step("toolEnded", { call: { name: "search" }, status: "failed" }),
      step("notice", { message: "turn limit" }),
      step("unheard", {}),
    ]),
  ).toEqual([
    { kind: "turn", turn: 1 },
    { kind: "command", text: "→ annotate c4m2: keep" },
    { kind: "result", ok: false, text: "no such node", code: "NOT_FOUND", nodes: [] },
    { kind: "tool", name: "search", status: "failed" },
    { kind: "notice", text: "turn limit" },
  ]);
});
