/** What a tree's requests were made of, as the server adds it up. */

export interface Requests {
  count: number;
  tokens: number;
  layers: { id: string; tokens: number }[];
  predicted: number;
  reported: number | null;
  reportedOf: number;
}

export interface TreeStatistics {
  requests: Requests;
  branches: { leaf: string; requests: Requests }[];
  unstable: { node: string; layer: string; message: string }[];
  turns: number;
  variants: { library: string; step: number; cost: number; cached: number; saved: number; current: boolean }[];
  notes: string[];
}

/** From the most stable to the most volatile. */
export const LAYERS = [
  { id: "L1_SYSTEM", name: "System", tone: "l1" },
  { id: "L2_LIBRARY", name: "Library", tone: "l2" },
  { id: "L4_HISTORY", name: "History", tone: "l4" },
  { id: "L3_TURN", name: "This turn", tone: "l3" },
  { id: "L5_USER", name: "You", tone: "l5" },
] as const;

/** The share that providers say was read from their cache; null where none says. */
export function cachedShare({ reported, reportedOf }: Requests): number | null {
  return reported === null || reportedOf === 0 ? null : reported / reportedOf;
}

/** The finding in a sentence: what most of the tokens were. */
export function finding({ requests }: TreeStatistics): string {
  if (requests.count === 0) return "Nothing was sent yet.";
  const largest = [...requests.layers].sort((one, other) => other.tokens - one.tokens)[0];
  const name = LAYERS.find(({ id }) => id === largest?.id)?.name.toLowerCase() ?? "nothing";
  const share = largest && requests.tokens ? Math.round((largest.tokens / requests.tokens) * 100) : 0;
  return `${requests.count.toLocaleString("en")} requests, ${requests.tokens.toLocaleString("en")} tokens; ${share} % were ${name}.`;
}
