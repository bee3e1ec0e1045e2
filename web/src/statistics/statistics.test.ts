import { expect, test } from "vitest";
import { cachedShare, finding, type Requests } from "./statistics";

const requests: Requests = { count: 3, tokens: 1000, layers: [{ id: "L1_SYSTEM", tokens: 200 }, { id: "L4_HISTORY", tokens: 800 }], predicted: 500, reported: 400, reportedOf: 800 };
const all = { requests, branches: [], unstable: [], turns: 0, variants: [], notes: [] };

test("the finding says what most of the tokens were", () => {
  expect(finding(all)).toBe("3 requests, 1,000 tokens; 80 % were history.");
  expect(finding({ ...all, requests: { ...requests, count: 0 } })).toBe("Nothing was sent yet.");
});

test("a share is known only where a provider speaks of it", () => {
  expect(cachedShare(requests)).toBe(0.5);
  expect(cachedShare({ ...requests, reported: null })).toBeNull();
});
