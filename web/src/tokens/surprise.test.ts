import { expect, test } from "vitest";
import { bits, branchText, leastExpected, percent, perplexity, shade, type Token } from "./surprise";

const token = (text: string, start: number, probability: number, ...others: string[]): Token => ({
  token: text,
  start,
  logprob: Math.log(probability),
  alternatives: others.map((each, at) => ({ token: each, logprob: Math.log(0.5 / (at + 1)) })),
});

test("surprise is counted in bits", () => {
  expect(bits(Math.log(0.25))).toBeCloseTo(2);
  expect(bits(0)).toBe(0);
  expect(perplexity([token("a", 0, 0.25), token("b", 1, 1)])).toBeCloseTo(2);
  expect(perplexity([])).toBe(1);
});

test("the least expected come first", () => {
  const tokens = [token("a", 0, 0.5), token("b", 1, 0.01), token("c", 2, 0.2)];
  expect(leastExpected(tokens, 2).map((each) => each.token)).toEqual(["b", "c"]);
});

test("a branch keeps what is before the token, in code points", () => {
  expect(branchText("🔑 like a person", token(" person", 8, 0.03), " man")).toBe("🔑 like a man");
  expect(branchText("The key", token("The", 0, 0.3), " A")).toBe("A");
});

test("a token that was not the first choice is shaded by choice", () => {
  expect(shade(token("person", 0, 0.03, "man", "person"), "choice")).toBe(0.8);
  expect(shade(token("man", 0, 0.5, "man"), "choice")).toBe(0.05);
  expect(shade(token("man", 0, 0.5), "off")).toBe(0);
  expect([percent(0.008), percent(0.24), percent(0)]).toEqual(["0.8 %", "24 %", "0 %"]);
});
