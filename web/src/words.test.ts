import { expect, test } from "vitest";
import { ago, counted, priceInWords } from "./words";

test("numbers agree with their words", () => {
  expect(counted(1, "node")).toBe("1 node");
  expect(counted(1204, "node")).toBe("1,204 nodes");
  expect(counted(86, "branch")).toBe("86 branches");
});

test("times are told by their largest unit", () => {
  const now = Date.parse("2026-11-18T12:00:00Z");
  expect(ago("2026-11-18T11:59:30Z", now)).toBe("just now");
  expect(ago("2026-11-18T11:54:00Z", now)).toBe("6 min");
  expect(ago("2026-11-16T11:00:00Z", now)).toBe("2 d");
});

test("a price is an amount, free, or not known", () => {
  expect(priceInWords("0.0539")).toEqual({ before: "at most", amount: "$0.054" });
  expect(priceInWords("0.00021")).toEqual({ before: "at most", amount: "$0.0002" });
  expect(priceInWords("0")).toEqual({ before: "free", amount: "" });
  expect(priceInWords(null).amount).toBe("");
});
