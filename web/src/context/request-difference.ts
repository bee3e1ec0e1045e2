/** How two requests differ: what is new, gone and kept, and how much is the same from the start. */
import { type ContextAnswer, isSent, type PlanEntry } from "../api/context-answer";

export interface RequestDifference {
  tokens: number;
  added: PlanEntry[];
  gone: PlanEntry[];
  /** Messages that are equal from the start, and their tokens as far as the nodes tell. */
  sameMessages: number;
  isPrefix: boolean;
  cutBefore: number;
  cutNow: number;
}

export function differenceOf(before: ContextAnswer, now: ContextAnswer): RequestDifference {
  const sent = (answer: ContextAnswer) => answer.manifest.entries.filter((entry) => entry.kind !== "layer" && isSent(entry));
  const key = ({ kind, id }: PlanEntry) => `${kind} ${id}`;
  const [earlier, later] = [sent(before), sent(now)];
  const [known, wanted] = [new Set(earlier.map(key)), new Set(later.map(key))];
  const messages = before.messages.map((message) => JSON.stringify(message));
  const same = now.messages.findIndex((message, index) => JSON.stringify(message) !== messages[index]);
  const sameMessages = before.system === now.system ? (same < 0 ? now.messages.length : same) : 0;
  return {
    tokens: now.tokens - before.tokens,
    added: later.filter((entry) => !known.has(key(entry))),
    gone: earlier.filter((entry) => !wanted.has(key(entry))),
    sameMessages,
    isPrefix: sameMessages >= before.messages.length,
    cutBefore: before.removedNodes,
    cutNow: now.removedNodes,
  };
}
