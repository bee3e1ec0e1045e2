/** Keys as words: `g`, `Shift+G`, `Ctrl+K`, `Alt+ArrowUp`. On a Mac, ⌘ counts as Ctrl. */

export function keyOf(event: KeyboardEvent): string {
  const parts: string[] = [];
  const letter = event.key.length === 1;
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  // A sign such as ? or ] is what was typed, however the keyboard makes it.
  if (event.shiftKey && (!letter || (parts.length > 0 && /[a-z]/i.test(event.key)))) parts.push("Shift");
  parts.push(event.key === " " ? "Space" : parts.length > 0 && letter ? event.key.toUpperCase() : event.key);
  return parts.join("+");
}

const SIGNS: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
};

/** How a key is shown on a keycap. */
export function keyLabel(key: string): string {
  return key.replace(/\w+$/, (last) => SIGNS[last] ?? last);
}

/** The same for `aria-keyshortcuts`. */
export function ariaKey(key: string): string {
  return key.replace("Ctrl", "Control");
}

/** True where letters belong to what is being written. */
export function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type);
}
