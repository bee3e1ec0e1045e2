import { expect, test } from "vitest";
import { panelOf, parseRoute, type Screen, screenPath } from "./routes";

const parse = (path: string) => parseRoute(new URL(path, "http://weft.test"));

test.each<[string, Screen]>([
  ["/", { name: "grove" }],
  ["/t/01ABC", { name: "reader", tree: "01ABC", node: null }],
  ["/t/01ABC/c4m2", { name: "reader", tree: "01ABC", node: "c4m2" }],
  ["/t/01ABC/c4m2/compare", { name: "compare", tree: "01ABC", node: "c4m2" }],
  ["/t/01ABC/c4m2/merge?with=a,b", { name: "merge", tree: "01ABC", node: "c4m2", sources: ["a", "b"] }],
  ["/t/01ABC/map?hoist=k2m9", { name: "map", tree: "01ABC", hoist: "k2m9" }],
  ["/t/01ABC/stats?path=k2m9", { name: "stats", tree: "01ABC", path: "k2m9" }],
  ["/search", { name: "search" }],
  ["/import/7", { name: "import", job: "7" }],
  ["/proxy/7", { name: "proxy", session: "7" }],
  ["/settings/agents", { name: "settings", section: "agents" }],
])("%s is read and written again", (path, screen) => {
  expect(parse(path).screen).toEqual(screen);
  expect(screenPath(screen)).toBe(path);
});

test("an address that no screen has is missing", () => {
  for (const path of ["/t", "/nowhere", "/t/a/b/c", "/t/a/b/compare/d"]) expect(parse(path).screen).toEqual({ name: "missing" });
});

test("only known panels are opened", () => {
  expect(panelOf(parse("/t/a/b?panel=context&tab=diff").query)).toBe("context");
  expect(panelOf(parse("/t/a/b?panel=__proto__").query)).toBeNull();
});
