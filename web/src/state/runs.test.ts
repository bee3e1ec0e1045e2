import { expect, test } from "vitest";
import { joinPart } from "./runs";

test("parts are joined once, in order, whatever is sent twice", () => {
  expect(joinPart("ab", 2, { offset: 2, end: 4, text: "cd" })).toEqual({ text: "abcd", end: 4 });
  expect(joinPart("abcd", 4, { offset: 0, end: 2, text: "ab" })).toEqual({ text: "abcd", end: 4 });
  expect(joinPart("ab", 2, { offset: 0, end: 4, text: "abcd" })).toEqual({ text: "abcd", end: 4 });
  expect(joinPart("ab", 2, { offset: 3, end: 4, text: "d" })).toBeNull();
});

test("offsets count characters, not halves of them", () => {
  expect(joinPart("🧵", 1, { offset: 0, end: 3, text: "🧵ab" })).toEqual({ text: "🧵ab", end: 3 });
});
