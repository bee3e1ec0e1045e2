import { expect, test } from "vitest";
import { isUnderWay, sizeOf, timeLeft } from "./import-report";

test("sizes and times in words", () => {
  expect([529, 41_200, 4_120_000, 412_000_000].map(sizeOf)).toEqual(["529 bytes", "41 kB", "4.1 MB", "412 MB"]);
  const startedAt = "2026-11-18T12:00:00Z";
  const now = Date.parse(startedAt) + 60_000;
  expect(timeLeft({ done: 50, total: 100, startedAt }, now)).toBe(" · about 60 s left");
  expect(timeLeft({ done: 20, total: 100, startedAt }, now)).toBe(" · about 4 min left");
  expect(timeLeft({ done: 1, total: 100, startedAt }, now)).toBe("");
  expect(timeLeft({ done: 0, total: 0, startedAt: null })).toBe("");
});

test("an import is followed until it is complete, stopped or failed", () => {
  expect(["waiting", "reading", "writing", "stopping"].every((status) => isUnderWay({ status }))).toBe(true);
  expect(["complete", "stopped", "failed"].some((status) => isUnderWay({ status }))).toBe(false);
});
