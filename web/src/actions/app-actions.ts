/** Actions that every screen has. */
import { router } from "../router/router.svelte";
import { KEYS, overlay, PALETTE, SEARCH } from "../shell/overlay.svelte";
import type { Action } from "./registry.svelte";

export const appActions: Action[] = [
  { id: "help.palette", label: "All commands", keys: ["Ctrl+K"], group: "Anywhere", inField: true, do: () => overlay.show(PALETTE) },
  { id: "help.keys", label: "Keys", keys: ["?"], group: "Anywhere", do: () => overlay.show(KEYS) },
  { id: "go.anything", label: "Search or go to", keys: ["/"], group: "Anywhere", do: () => overlay.show(SEARCH) },
  { id: "go.search", label: "Search the grove", group: "Anywhere", do: () => router.go({ name: "search" }) },
  { id: "go.grove", label: "To the grove", group: "Anywhere", when: () => router.screen.name !== "grove", do: () => router.go({ name: "grove" }) },
  { id: "go.settings", label: "Settings", group: "Anywhere", do: () => router.go({ name: "settings", section: "models" }) },
  { id: "go.import", label: "Import a conversation", group: "Anywhere", do: () => router.go({ name: "import", job: null }) },
];
