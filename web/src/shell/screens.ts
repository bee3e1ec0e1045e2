/** The component of each screen, loaded when it is first opened. */
import type { Component } from "svelte";
import type { Screen } from "../router/routes";

type Load = () => Promise<{ default: Component }>;

export const SCREENS: Partial<Record<Screen["name"], Load>> = {
  grove: () => import("../grove/GroveScreen.svelte"),
  reader: () => import("../reader/ReaderScreen.svelte"),
};
