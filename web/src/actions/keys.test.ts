import { expect, test } from "vitest";
import { keyLabel, keyOf } from "./keys";

const press = (key: string, held: Partial<KeyboardEvent> = {}) =>
  keyOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held } as KeyboardEvent);

test("keys are named by what was typed", () => {
  expect(press("g")).toBe("g");
  expect(press("P", { shiftKey: true })).toBe("P");
  expect(press("?", { shiftKey: true })).toBe("?");
  expect(press("k", { ctrlKey: true })).toBe("Ctrl+K");
  expect(press("k", { metaKey: true })).toBe("Ctrl+K");
  expect(press("Z", { ctrlKey: true, shiftKey: true })).toBe("Ctrl+Shift+Z");
  expect(press("ArrowUp", { altKey: true })).toBe("Alt+ArrowUp");
  expect(press(" ")).toBe("Space");
});

test("keycaps show signs", () => {
  expect(keyLabel("Alt+ArrowUp")).toBe("Alt+↑");
  expect(keyLabel("Escape")).toBe("Esc");
  expect(keyLabel("]")).toBe("]");
});
