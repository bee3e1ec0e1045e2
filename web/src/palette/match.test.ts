import { expect, test } from "vitest";
import { fits } from "./match";

test("every word that is typed must be in the label; beginnings count most", () => {
  expect(fits("Bookmark", "")).toBe(1);
  expect(fits("Bookmark", "prune")).toBe(0);
  expect(fits("Next bookmark", "book")).toBeLessThan(fits("Bookmark", "book"));
  expect(fits("Compare siblings", "sib comp")).toBeGreaterThan(1);
});
