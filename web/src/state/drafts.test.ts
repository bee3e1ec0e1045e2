import { expect, test } from "vitest";
import { Drafts } from "./drafts";

function memory() {
  const values = new Map<string, string>();
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
    values,
  };
}

test("each node has a draft of its own, and an empty one is not kept", () => {
  const storage = memory();
  const drafts = new Drafts(storage);
  drafts.write("t", "a", "Who did it?");
  drafts.write("t", "a", "She stops.", "edit");
  expect(new Drafts(storage).read("t", "a")).toBe("Who did it?");
  expect(drafts.read("t", "a", "edit")).toBe("She stops.");
  expect(drafts.read("t", "b")).toBe("");
  drafts.write("t", "a", "");
  expect(storage.values.size).toBe(1);
});

test("a browser without room says so", () => {
  const full = { ...memory(), setItem: () => { throw new Error("quota"); } };
  expect(new Drafts(full).write("t", "a", "text")).toBe(false);
});
