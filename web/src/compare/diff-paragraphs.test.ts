import { expect, test } from "vitest";
import { diffWords } from "../diff/word-diff";
import { diffParagraphs } from "./diff-paragraphs";

test("paragraphs keep their changes, and what is shared ends at the first one", () => {
  const [first, second] = diffParagraphs(diffWords("The key turned.\n\nShe went in.", "The key turned.\n\nShe did not go in."));
  expect(first).toEqual([{ kind: "same", text: "The key turned.", shared: true }]);
  expect(second?.map(({ kind, shared }) => [kind, shared])).toEqual([
    ["same", true],
    ["added", false],
    ["same", false],
  ]);
  expect(second?.[1]?.instead).toBe("went");
});

test("words that were left out do not begin a paragraph", () => {
  expect(diffParagraphs(diffWords("One.\n\nTwo.\n\nThree.", "One."))).toEqual([
    [
      { kind: "same", text: "One.", shared: true },
      { kind: "left out", text: "Two.\n\nThree.", shared: false },
    ],
  ]);
  expect(diffParagraphs([])).toEqual([]);
});
