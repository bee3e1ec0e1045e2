import { diffArrays } from "diff";
import { expect, test } from "vitest";
import { matchSequences } from "./myers";
import { diffWords } from "./word-diff";
import { countWords, splitWords } from "./words";

function randomSequence(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

function letters(random: () => number, length: number, alphabet: number): Int32Array {
  return Int32Array.from({ length }, () => Math.floor(random() * alphabet));
}

test("as few items change as in the diff package", () => {
  const random = randomSequence(11);
  for (let round = 0; round < 400; round++) {
    const one = letters(random, Math.floor(random() * 40), 2 + Math.floor(random() * 6));
    const other = letters(random, Math.floor(random() * 40), 2 + Math.floor(random() * 6));
    const matches = matchSequences(one, other);
    let left = 0;
    let right = 0;
    for (const match of matches) {
      expect(match.left).toBeGreaterThanOrEqual(left);
      expect(match.right).toBeGreaterThanOrEqual(right);
      for (let at = 0; at < match.length; at++) expect(one[match.left + at]).toBe(other[match.right + at]);
      left = match.left + match.length;
      right = match.right + match.length;
    }
    const shared = matches.reduce((sum, { length }) => sum + length, 0);
    const oracle = diffArrays([...one], [...other]);
    const kept = oracle
      .filter((part) => !part.added && !part.removed)
      .reduce((sum, part) => sum + part.value.length, 0);
    expect(shared).toBe(kept);
  }
});

test("both texts can be read from the changes", () => {
  const random = randomSequence(5);
  const words = ["the", "key", "turned", "easily", "and", "she", "stopped", "鍵は", "المفتاح", "\n\n"];
  for (let round = 0; round < 100; round++) {
    const text = (): string =>
      Array.from({ length: Math.floor(random() * 60) }, () => words[Math.floor(random() * words.length)]).join(" ");
    const [base, other] = [text(), text()];
    for (const bound of [1, 3, undefined]) {
      const changes = diffWords(base, other, bound);
      expect(
        changes
          .filter(({ kind }) => kind !== "added")
          .map((change) => change.text)
          .join(""),
      ).toBe(base);
      expect(
        changes
          .filter(({ kind }) => kind !== "left out")
          .map((change) => change.text)
          .join(""),
      ).toBe(other);
    }
  }
});

test("a changed phrase is one change", () => {
  expect(diffWords("She stepped back and ran", "She stepped to the window and ran")).toEqual([
    { kind: "same", text: "She stepped " },
    { kind: "left out", text: "back" },
    { kind: "added", text: "to the window" },
    { kind: "same", text: " and ran" },
  ]);
});

test("words are found where no spaces divide them", () => {
  const changes = diffWords("鍵は簡単に回った", "鍵は静かに回った");
  expect(changes[0]).toEqual({ kind: "same", text: expect.stringContaining("鍵") as string });
  expect(changes.some(({ kind }) => kind === "added")).toBe(true);
  expect(splitWords("one  two\n")).toEqual(["one", "  ", "two", "\n"]);
  expect(countWords("She didn’t go in.")).toBe(4);
});

test("equal and empty texts", () => {
  expect(diffWords("", "")).toEqual([]);
  expect(diffWords("same", "same")).toEqual([{ kind: "same", text: "same" }]);
  expect(diffWords("", "new")).toEqual([{ kind: "added", text: "new" }]);
});

test("two texts of 100 kB with little in common are compared", () => {
  const random = randomSequence(3);
  const text = (): string => Array.from({ length: 20_000 }, () => Math.floor(random() * 5_000).toString(36)).join(" ");
  const [base, other] = [text(), text()];
  const changes = diffWords(base, other);
  expect(
    changes
      .filter(({ kind }) => kind !== "left out")
      .map((change) => change.text)
      .join(""),
  ).toBe(other);
});
