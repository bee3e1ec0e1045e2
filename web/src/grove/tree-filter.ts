/** Which trees of the grove are listed; the filter is in the address. */
import type { Tree } from "../api/values";

export interface TreeFilter {
  mode: "" | "dialogue" | "buffer";
  project: string;
  tag: string;
  archived: boolean;
  order: "touched" | "title" | "size";
}

const MODES: readonly string[] = ["dialogue", "buffer"];
const ORDERS: readonly string[] = ["title", "size"];

export function readFilter(query: URLSearchParams): TreeFilter {
  const mode = query.get("mode") ?? "";
  const order = query.get("order") ?? "";
  return {
    mode: (MODES.includes(mode) ? mode : "") as TreeFilter["mode"],
    project: query.get("project") ?? "",
    tag: query.get("tag") ?? "",
    archived: query.get("archived") === "1",
    order: (ORDERS.includes(order) ? order : "touched") as TreeFilter["order"],
  };
}

/** The parameters that differ from the default; null takes one away. */
export function filterQuery({ mode, project, tag, archived, order }: TreeFilter): Record<string, string | null> {
  return {
    mode: mode || null,
    project: project || null,
    tag: tag || null,
    archived: archived ? "1" : null,
    order: order === "touched" ? null : order,
  };
}

/** The trees that pass, in their order; those of a list that is already the last changed first. */
export function listed(trees: readonly Tree[], filter: TreeFilter, tagged: ReadonlySet<string> | undefined): Tree[] {
  const kept = trees.filter(
    (tree) =>
      (tree.archivedAt !== null) === filter.archived &&
      (filter.mode === "" || tree.mode === filter.mode) &&
      (filter.project === "" || tree.project === filter.project) &&
      (filter.tag === "" || (tagged?.has(tree.id) ?? false)),
  );
  if (filter.order === "title") kept.sort((one, other) => one.title.localeCompare(other.title));
  if (filter.order === "size") kept.sort((one, other) => other.counters.nodes - one.counters.nodes);
  return kept;
}
