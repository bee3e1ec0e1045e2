import { expect, test } from "vitest";
import { authorShares, editedSegments, joinSegments, segmentAt } from "./document-segments";

const { text, segments, spans } = joinSegments([
  { id: "a", text: "🔑 The key ", author: "ada", spans: [{ authorId: "ada", start: 0, end: 6 }, { authorId: "opus", start: 6, end: 10 }] },
  { id: "b", text: "turned. ", author: "opus", spans: null },
  { id: "c", text: "She stopped.", author: "ada", spans: null },
]);

test("nodes are joined, and spans counted as an editor does", () => {
  expect(text).toBe("🔑 The key turned. She stopped.");
  expect(spans.map((span) => [span.author, text.slice(span.from, span.to)])).toEqual([
    ["ada", "🔑 The "],
    ["opus", "key "],
    ["opus", "turned. "],
    ["ada", "She stopped."],
  ]);
  expect(authorShares(spans)[0]?.author).toBe("ada");
  expect(segmentAt(segments, text.indexOf("turned") + 1)?.id).toBe("b");
});

test("a change inside a node is an edit of that node", () => {
  expect(editedSegments(segments, text, text.replace("turned", "stuck"))).toEqual({ edited: [{ id: "b", text: "stuck. " }], tail: "" });
});

test("what is written after the last node is not committed yet", () => {
  expect(editedSegments(segments, text, `${text} Then`)).toEqual({ edited: [], tail: " Then" });
  expect(editedSegments(segments, `${text} Then`, `${text} Then she`)).toEqual({ edited: [], tail: " Then she" });
});

test("a deletion over several nodes edits each of them", () => {
  const after = text.replace("key turned. She ", "");
  expect(editedSegments(segments, text, after)).toEqual({ edited: [{ id: "a", text: "🔑 The " }, { id: "b", text: "" }, { id: "c", text: "stopped." }], tail: "" });
});

test("a document that did not change has no edits", () => {
  expect(editedSegments(segments, text, text)).toEqual({ edited: [], tail: "" });
  expect(editedSegments([], "", "First words")).toEqual({ edited: [], tail: "First words" });
});
