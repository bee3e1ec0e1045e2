/** The changes of a text, by paragraph, as they are drawn. */

import type { Change } from "../diff/word-diff";

export interface Piece extends Change {
  /** Before the first change: what all have in common. */
  shared: boolean;
  /** The words that an addition replaces. */
  instead?: string;
}

/** A blank line ends a paragraph; what was left out never does, and is told in words. */
export function diffParagraphs(changes: readonly Change[]): Piece[][] {
  const paragraphs: Piece[][] = [[]];
  let shared = true;
  let instead = "";
  for (const [index, { kind, text }] of changes.entries()) {
    if (kind !== "same") shared = false;
    if (kind === "left out") {
      if (changes[index + 1]?.kind === "added") instead = text.trim();
      else paragraphs.at(-1)!.push({ kind, text: text.trim(), shared });
      continue;
    }
    text.split(/\n\s*\n/).forEach((part, at) => {
      if (at > 0) paragraphs.push([]);
      if (part !== "") paragraphs.at(-1)!.push({ kind, text: part, shared, ...(instead ? { instead } : {}) });
      instead = "";
    });
  }
  return paragraphs.filter((pieces) => pieces.some(({ text }) => text !== ""));
}
