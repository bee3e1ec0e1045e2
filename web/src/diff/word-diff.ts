/** How a text differs from another, by word: what was added, and what was left out where. */

import { matchSequences } from "./myers";
import { splitWords } from "./words";

export type ChangeKind = "same" | "added" | "left out";

export interface Change {
  kind: ChangeKind;
  text: string;
}

/** The changes that lead from `base` to `text`: without those left out they are `text`, without those added `base`. */
export function diffWords(base: string, text: string, bound?: number): Change[] {
  if (base === text) return text ? [{ kind: "same", text }] : [];
  const left = splitWords(base);
  const right = splitWords(text);
  const numbers = new Map<string, number>();
  const matches = bridgeBlanks(matchSequences(numbered(left, numbers), numbered(right, numbers), bound), left);
  const changes: Change[] = [];
  const add = (kind: ChangeKind, words: string[]): void => {
    if (words.length) changes.push({ kind, text: words.join("") });
  };
  let from = 0;
  let start = 0;
  for (const match of [...matches, { left: left.length, right: right.length, length: 0 }]) {
    add("left out", left.slice(from, match.left));
    add("added", right.slice(start, match.right));
    add("same", right.slice(match.right, match.right + match.length));
    from = match.left + match.length;
    start = match.right + match.length;
  }
  return changes;
}

function numbered(words: string[], numbers: Map<string, number>): Int32Array {
  return Int32Array.from(words, (word) => {
    const known = numbers.get(word);
    if (known !== undefined) return known;
    numbers.set(word, numbers.size);
    return numbers.size - 1;
  });
}

/** Drop matches of nothing but white space between two changes: “to the window” is one change, not three. */
function bridgeBlanks(matches: { left: number; right: number; length: number }[], words: string[]): typeof matches {
  return matches.filter(({ left, length }, at) => {
    const inside = at > 0 || left > 0;
    const blank = length === 1 && words[left]!.trim() === "";
    return !(blank && inside && at < matches.length - 1);
  });
}
