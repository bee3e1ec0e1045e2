import { expect, test } from "vitest";
import { readSearch, searchAddress, serverQuery } from "./search-query";

test.each([
  "/search",
  "/search?q=putty",
  "/search?q=%22a+b%22+-c&author=1&author=2&model=m&since=2026-10-01&bookmarked=1&kind=node&tree=T&order=newest",
])("%s is read and written again", (address) => {
  expect(searchAddress(readSearch(new URL(address, "http://weft.test").searchParams))).toBe(address);
});

test("what an address cannot mean is left out", () => {
  const search = readSearch(new URLSearchParams("kind=virus&since=yesterday&order=up"));
  expect(searchAddress(search)).toBe("/search");
});

test("authors are not asked of the server, so that all are counted", () => {
  const search = readSearch(new URLSearchParams("q=a&author=1&since=2026-10-01"));
  expect(serverQuery(search, 50)).toEqual({ query: "a", limit: 50, after: "2026-10-01" });
});
