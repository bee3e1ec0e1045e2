/** What lies over the page: the palette, the keys, a picker. One at a time; the rest is inert. */
import type { Component } from "svelte";

type Load = () => Promise<{ default: Component }>;

class Overlay {
  open: Load | null = $state.raw(null);
  private focused: Element | null = null;

  show(load: Load) {
    this.focused = document.activeElement;
    this.open = load;
  }

  close() {
    this.open = null;
    if (this.focused instanceof HTMLElement) this.focused.focus();
  }
}

export const overlay = new Overlay();
export const KEYS: Load = () => import("../palette/KeysOverlay.svelte");
/** Commands only, and everything that can be gone to. */
export const PALETTE: Load = () => import("../palette/CommandPalette.svelte");
export const SEARCH: Load = () => import("../palette/SearchPalette.svelte");
