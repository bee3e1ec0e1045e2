/** A merge before it is made: its sources in order, what each one becomes in the request, and what is asked of the server. */

export type SourceRole = "primary" | "context" | "instruction";

export interface MergeSource {
  /** The local id. */
  id: string;
  role: SourceRole;
}

/** What the request would be, as the server plans it. */
export interface PlannedContext {
  tokens: number;
  budget: number;
  removedNodes: number;
  layers: { id: string; label: string; tokens: number }[];
}

export const ROLES: readonly SourceRole[] = ["primary", "context", "instruction"];

/** Where a source will be in the request. */
export function placeOf(sources: readonly MergeSource[], at: number): string {
  const { role } = sources[at]!;
  if (role === "instruction") return "end of the system text";
  if (role === "context") return "reference block before your message";
  return at === parentOf(sources) ? "its own message; the new node’s parent" : "reference block, after the context";
}

/** The place of the source that the new node hangs below; −1 without a primary one. */
export function parentOf(sources: readonly MergeSource[]): number {
  return sources.findIndex(({ role }) => role === "primary");
}

export function problemOf(sources: readonly MergeSource[]): string {
  if (sources.length < 2) return "A merge needs two sources: add another.";
  if (parentOf(sources) < 0) return "One source has to be primary: the new node hangs below it.";
  return "";
}

export function moved(sources: readonly MergeSource[], at: number, by: number): MergeSource[] {
  const to = at + by;
  if (to < 0 || to >= sources.length) return [...sources];
  const next = [...sources];
  next.splice(to, 0, ...next.splice(at, 1));
  return next;
}

export interface MergeRequest {
  path: "merge" | "nodes";
  body: Record<string, unknown>;
}

/** With one primary source the new node is a child with further sources; with more it is a merge. */
export function mergeRequest(sources: readonly MergeSource[], content: string): MergeRequest {
  const primary = sources.filter(({ role }) => role === "primary").map(({ id }) => id);
  const others = sources.filter(({ role }) => role !== "primary").map(({ id, role }) => ({ node: id, role }));
  if (primary.length > 1) return { path: "merge", body: { nodes: primary, content, sources: others } };
  return { path: "nodes", body: { parent: primary[0], content, sources: others } };
}

/** The query that plans the request without writing anything. */
export function previewQuery(sources: readonly MergeSource[], text: string, agent: string): { node: string; query: Record<string, unknown> } {
  const parent = parentOf(sources);
  const context = sources.filter(({ role }, at) => role !== "instruction" && at !== parent).map(({ id }) => id);
  const instructions = sources.filter(({ role }) => role === "instruction").map(({ id }) => id);
  return { node: sources[parent]?.id ?? "", query: { text: text || " ", context, instructions, ...(agent ? { agent } : {}) } };
}
