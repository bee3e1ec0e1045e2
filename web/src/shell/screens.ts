/** The component of each screen, loaded when it is first opened. */
import type { Component } from "svelte";
import type { Screen } from "../router/routes";

type Load = () => Promise<{ default: Component }>;

export const SCREENS: Partial<Record<Screen["name"], Load>> = {
  compare: () => import("../compare/CompareScreen.svelte"),
  grove: () => import("../grove/GroveScreen.svelte"),
  map: () => import("../map/MapScreen.svelte"),
  document: () => import("../documents/DocumentScreen.svelte"),
  import: () => import("../import/ImportScreen.svelte"),
  merge: () => import("../merge/MergeScreen.svelte"),
  proxy: () => import("../proxy/ProxyScreen.svelte"),
  reader: () => import("../reader/ReaderScreen.svelte"),
  settings: () => import("../settings/SettingsScreen.svelte"),
  search: () => import("../search/SearchScreen.svelte"),
  stats: () => import("../statistics/StatisticsScreen.svelte"),
};
