/** A search as its address says it: the words and every filter. */

export type HitKind = "node" | "document" | "tree" | "tag";
export type SearchOrder = "best" | "newest";

export interface SearchQuery {
  words: string;
  authors: string[];
  model: string;
  since: string;
  bookmarked: boolean;
  kind: HitKind | "";
  tree: string;
  order: SearchOrder;
}

const KINDS: readonly string[] = ["node", "document", "tree", "tag"];

export function readSearch(query: URLSearchParams): SearchQuery {
  const kind = query.get("kind") ?? "";
  const since = query.get("since") ?? "";
  return {
    words: query.get("q") ?? "",
    authors: query.getAll("author"),
    model: query.get("model") ?? "",
    since: /^\d{4}-\d{2}-\d{2}$/.test(since) ? since : "",
    bookmarked: query.get("bookmarked") === "1",
    kind: KINDS.includes(kind) ? (kind as HitKind) : "",
    tree: query.get("tree") ?? "",
    order: query.get("order") === "newest" ? "newest" : "best",
  };
}

export function searchAddress(search: SearchQuery): string {
  const query = new URLSearchParams();
  if (search.words) query.set("q", search.words);
  for (const author of search.authors) query.append("author", author);
  if (search.model) query.set("model", search.model);
  if (search.since) query.set("since", search.since);
  if (search.bookmarked) query.set("bookmarked", "1");
  if (search.kind) query.set("kind", search.kind);
  if (search.tree) query.set("tree", search.tree);
  if (search.order !== "best") query.set("order", search.order);
  const text = query.toString();
  return text ? `/search?${text}` : "/search";
}

/** What the server is asked: authors and kinds are filtered here, so that their counts stay in sight. */
export function serverQuery(search: SearchQuery, limit: number): Record<string, unknown> {
  return {
    query: search.words,
    limit,
    ...(search.model ? { model: search.model } : {}),
    ...(search.since ? { after: search.since } : {}),
    ...(search.bookmarked ? { bookmarked: true } : {}),
    ...(search.tree ? { tree: search.tree } : {}),
  };
}
