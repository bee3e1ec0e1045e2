/** Runs and attempts as the stream reports them. */

export type AttemptStatus = "running" | "complete" | "interrupted" | "failed";

/** One answer of a call: several choices of one call share the attempt's id. */
export interface Attempt {
  id: string;
  choice: number;
  run: string;
  tree: string;
  parent: string;
  /** The id of the agent that answers, and its name. */
  agent: string;
  name: string;
  model: string;
  status: AttemptStatus;
  node: string | null;
  offset: number;
  error: { error: string; code: string; hint?: string } | null;
  usage: { prompt: number | null; completion: number | null; cachedRead: number | null } | null;
  cost: string | null;
}

export interface Run {
  id: string;
  tree: string;
  node: string;
  kind: "generation" | "ask" | "collaboration";
  status: "running" | "complete" | "stopped" | "failed";
  stopping: boolean;
  note: string | null;
  error: { error: string; code: string; hint?: string } | null;
  startedAt: string;
  endedAt: string | null;
  attempts: Attempt[];
}

/** Text of an attempt as it arrives; offsets count Unicode code points. */
export interface TextPart {
  attempt: string;
  choice: number;
  run: string;
  tree: string;
  parent: string;
  kind: "text" | "thinking";
  offset: number;
  end: number;
  text: string;
}

/** The key of an answer. */
export function answerKey({ id, choice }: Pick<Attempt, "id" | "choice">): string {
  return `${id}/${choice}`;
}

export interface Presence {
  tree: string;
  agent: string;
  name: string;
  node: string;
  at?: string;
}

/** A text with one part joined; null if something between them is missing. */
export function joinPart(text: string, end: number, part: Pick<TextPart, "offset" | "end" | "text">): { text: string; end: number } | null {
  if (part.offset === end) return { text: text + part.text, end: part.end };
  if (part.offset > end) return null;
  if (part.end <= end) return { text, end };
  return { text: text + [...part.text].slice(end - part.offset).join(""), end: part.end };
}
