import { expect, test } from "vitest";
import { highlighted, placesOf } from "./highlight";

test("places count code points", () => {
  expect(highlighted("🔑 the key", [[6, 9]])).toEqual([
    { text: "🔑 the ", marked: false },
    { text: "key", marked: true },
  ]);
  expect(highlighted("key", [[0, 3], [1, 99]])).toEqual([{ text: "key", marked: true }]);
  expect(highlighted("", [[0, 1]])).toEqual([]);
});

test("marked words are found again in the whole text", () => {
  const text = "🔑 Putty, and putty.";
  expect(highlighted(text, placesOf(text, ["putty"])).filter(({ marked }) => marked).map((piece) => piece.text)).toEqual(["Putty", "putty"]);
});
