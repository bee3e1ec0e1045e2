import { expect, test } from "vitest";
import { address, ApiError, Client } from "./client";

test("parameters are escaped, lists repeated and empty ones left out", () => {
  const url = address("/api/trees/{tree}/nodes/{node}", { tree: "a/b", node: "é" }, { n: 2, tags: ["x", "y"], none: undefined });
  expect(url).toBe("/api/trees/a%2Fb/nodes/%C3%A9?n=2&tags=x&tags=y");
});

test("an error of the server keeps its code, message and hint", async () => {
  const refused = { error: "no such tree", code: "NOT_FOUND", hint: "list trees" };
  const client = new Client(() => Promise.resolve(Response.json(refused, { status: 404 })));
  const error = await client.get("/api/me").catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ message: "no such tree", code: "NOT_FOUND", status: 404, hint: "list trees" });
});

test("a lost connection is told apart from an answer", async () => {
  const client = new Client(() => Promise.reject(new TypeError("failed to fetch")));
  await expect(client.get("/api/me")).rejects.toMatchObject({ status: 0, isOffline: true });
});
