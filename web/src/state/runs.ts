/** Runs and attempts as the stream reports them. */

export type AttemptStatus = "running" | "complete" | "interrupted" | "failed";

export interface Attempt {
  id: string;
  run: string;
  tree: string;
  parent: string;
  agent: string;
  status: AttemptStatus;
  node?: string | null;
  offset: number;
  error?: { code: string; message: string; hint?: string } | null;
  usage?: Record<string, unknown> | null;
  cost?: string | null;
}

export interface Run {
  id: string;
  tree: string;
  node: string;
  kind: "generation" | "ask" | "collaboration";
  status: "running" | "complete" | "stopped" | "failed";
  attempts: Attempt[];
}

/** Text of an attempt as it arrives; offsets count Unicode code points. */
export interface TextPart {
  attempt: string;
  run: string;
  tree: string;
  parent: string;
  kind: "text" | "thinking";
  offset: number;
  end: number;
  text: string;
}

export interface Presence {
  tree: string;
  agent: string;
  name: string;
  node: string;
  via?: string;
}

/** A text with one part joined; null if something between them is missing. */
export function joinPart(text: string, end: number, part: Pick<TextPart, "offset" | "end" | "text">): { text: string; end: number } | null {
  if (part.offset === end) return { text: text + part.text, end: part.end };
  if (part.offset > end) return null;
  if (part.end <= end) return { text, end };
  return { text: text + [...part.text].slice(end - part.offset).join(""), end: part.end };
}
