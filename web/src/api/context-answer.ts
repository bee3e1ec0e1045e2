/** What `GET …/nodes/{node}/context` answers: the next request and what became of every candidate. */

export type Outcome = "kept" | "cut" | "excluded" | "collapsed" | "shortened" | "masked" | "merged" | "referenced" | "added";

export interface PlanEntry {
  kind: "layer" | "system" | "node" | "source" | "item" | "message" | (string & {});
  id: string;
  /** Tokens that are sent, and those that it has. */
  tokens: number;
  size: number;
  outcome: Outcome;
  reason: string;
  position?: number;
  /** Of a range that was cut: how many nodes, and its last one. */
  count?: number;
  last?: string;
}

export interface PlanLayer {
  id: "L1_SYSTEM" | "L2_LIBRARY" | "L3_TURN" | "L4_HISTORY" | "L5_USER";
  label: string;
  tokens: number;
  stable: boolean;
  hash: string;
}

export interface ContextAnswer {
  system: string;
  messages: unknown[];
  tokens: number;
  budget: number;
  truncated: boolean;
  removedNodes: number;
  removedTokens: number;
  layers: PlanLayer[];
  requests: { purpose: string; url: string; body: unknown }[];
  agent: string;
  model: string;
  warnings: string[];
  manifest: { settings: Record<string, unknown>; hash: string; entries: PlanEntry[] };
}

const SENT: ReadonlySet<Outcome> = new Set<Outcome>(["kept", "shortened", "masked", "merged", "referenced", "added"]);

/** What became of each node of a path: ranges that were cut are given by their ends. */
export function outcomesOf(entries: readonly PlanEntry[], path: readonly string[]): Map<string, PlanEntry> {
  const outcomes = new Map<string, PlanEntry>();
  const places = new Map(path.map((id, index) => [id, index]));
  for (const entry of entries) {
    if (entry.kind !== "node") continue;
    const first = places.get(entry.id);
    const last = entry.last === undefined ? first : places.get(entry.last);
    if (first === undefined || last === undefined) outcomes.set(entry.id, entry);
    else for (let index = first; index <= last; index += 1) outcomes.set(path[index]!, entry);
  }
  return outcomes;
}

export function isSent(entry: PlanEntry): boolean {
  return SENT.has(entry.outcome);
}

export interface Cut {
  /** The last node that is cut: the line is drawn after it. */
  after: string;
  nodes: number;
  tokens: number;
}

/** The cut of a plan, where it ends; null if nothing was cut. */
export function cutOf(entries: readonly PlanEntry[]): Cut | null {
  const cuts = entries.filter(({ kind, outcome }) => kind === "node" && outcome === "cut");
  const last = cuts.at(-1);
  if (!last) return null;
  return {
    after: last.last ?? last.id,
    nodes: cuts.reduce((sum, { count = 1 }) => sum + count, 0),
    tokens: cuts.reduce((sum, { size }) => sum + size, 0),
  };
}
