/** Every action of the app, once: keys, palette, menus and buttons all come from here. */
import { untrack } from "svelte";
import { isField, keyOf } from "./keys";

/** The columns of the keys overlay, in its order. */
export const GROUPS = ["Walk", "Make", "Mark", "See", "Write", "Compare", "Context", "Anywhere"] as const;
export type Group = (typeof GROUPS)[number];

export interface Action {
  /** Unique, such as `node.bookmark`. */
  id: string;
  label: string | (() => string);
  /** The first key is the one that is shown. */
  keys?: string[];
  group: Group;
  /** False hides it from the palette and lets its key pass. */
  when?: () => boolean;
  do: () => unknown;
  undo?: () => unknown;
  /** A key that works while something is being written. */
  inField?: boolean;
  /** What it would cost or change, shown in the palette before it is done. */
  effect?: () => string;
}

class ActionRegistry {
  private lists: readonly (readonly Action[])[] = $state.raw([]);
  lettersOn = $state(localStorage.getItem("weft.letters") !== "false");
  /** What digits mean on this screen: that many, that one, that role. */
  digits: ((digit: number) => boolean) | null = null;

  /** A screen's own actions come before those that all screens have. Returns how to take them away. */
  add(actions: readonly Action[], shared = false): () => unknown {
    // Adding is no reason for an effect to run again.
    untrack(() => (this.lists = shared ? [...this.lists, actions] : [actions, ...this.lists]));
    return () => untrack(() => (this.lists = this.lists.filter((each) => each !== actions)));
  }

  get all(): Action[] {
    const seen = new Set<string>();
    return this.lists.flat().filter(({ id }) => !seen.has(id) && seen.add(id));
  }

  get available(): Action[] {
    return this.all.filter((action) => action.when?.() ?? true);
  }

  find(id: string): Action | undefined {
    return this.all.find((action) => action.id === id);
  }

  run(id: string) {
    const action = this.find(id);
    if (action && (action.when?.() ?? true)) action.do();
  }

  /** What a key press does; true if it did something. */
  press(event: KeyboardEvent): boolean {
    const key = keyOf(event);
    const field = isField(event.target);
    const plain = key.length === 1;
    if (event.isComposing || (plain && (field || !this.lettersOn))) return false;
    if (/^\d$/.test(key) && this.digits) return this.digits(Number(key));
    const action = this.available.find(({ keys, inField }) => (keys?.includes(key) ?? false) && (!field || inField));
    if (!action) return false;
    action.do();
    return true;
  }
}

export const registry = new ActionRegistry();

export function labelOf(action: Action): string {
  return typeof action.label === "string" ? action.label : action.label();
}
