/** The addresses of the app: every screen, node and panel has one. */

export type Panel = "context" | "provenance" | "collaborator" | "tokens" | "run";

export type Screen =
  | { name: "grove" }
  | { name: "reader"; tree: string; node: string | null }
  | { name: "compare"; tree: string; node: string }
  | { name: "merge"; tree: string; node: string; sources: string[] }
  | { name: "map"; tree: string; hoist: string | null }
  | { name: "stats"; tree: string; path: string | null }
  | { name: "search" }
  | { name: "import"; job: string | null }
  | { name: "proxy"; session: string | null }
  | { name: "document"; document: string }
  | { name: "settings"; section: string }
  | { name: "missing" };

/** What a panel shows is in the query, so that a link shows what its sender saw. */
export interface Route {
  screen: Screen;
  query: URLSearchParams;
}

const PANELS: readonly string[] = ["context", "provenance", "collaborator", "tokens", "run"];

export function parseRoute(url: URL): Route {
  const parts = url.pathname.split("/").filter(Boolean).map(decode);
  return { screen: screenOf(parts, url.searchParams), query: url.searchParams };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function screenOf([first, second, third, fourth, ...rest]: string[], query: URLSearchParams): Screen {
  if (rest.length > 0) return { name: "missing" };
  switch (first) {
    case undefined:
      return { name: "grove" };
    case "t":
      return second ? treeScreen(second, third, fourth, query) : { name: "missing" };
    case "search":
      return { name: "search" };
    case "import":
      return { name: "import", job: second ?? null };
    case "proxy":
      return { name: "proxy", session: second ?? null };
    case "documents":
      return second ? { name: "document", document: second } : { name: "missing" };
    case "settings":
      return { name: "settings", section: second ?? "models" };
    default:
      return { name: "missing" };
  }
}

function treeScreen(tree: string, node: string | undefined, view: string | undefined, query: URLSearchParams): Screen {
  if (node === undefined) return { name: "reader", tree, node: null };
  if (node === "map" && !view) return { name: "map", tree, hoist: query.get("hoist") };
  if (node === "stats" && !view) return { name: "stats", tree, path: query.get("path") };
  if (view === undefined) return { name: "reader", tree, node };
  if (view === "compare") return { name: "compare", tree, node };
  if (view === "merge") return { name: "merge", tree, node, sources: (query.get("with") ?? "").split(",").filter(Boolean) };
  return { name: "missing" };
}

export function screenPath(screen: Screen): string {
  const part = encodeURIComponent;
  switch (screen.name) {
    case "grove":
    case "missing":
      return "/";
    case "reader":
      return screen.node === null ? `/t/${part(screen.tree)}` : `/t/${part(screen.tree)}/${part(screen.node)}`;
    case "compare":
      return `/t/${part(screen.tree)}/${part(screen.node)}/compare`;
    case "merge":
      return `/t/${part(screen.tree)}/${part(screen.node)}/merge?with=${screen.sources.map(part).join(",")}`;
    case "map":
      return `/t/${part(screen.tree)}/map${screen.hoist ? `?hoist=${part(screen.hoist)}` : ""}`;
    case "stats":
      return `/t/${part(screen.tree)}/stats${screen.path ? `?path=${part(screen.path)}` : ""}`;
    case "search":
      return "/search";
    case "import":
      return screen.job === null ? "/import" : `/import/${part(screen.job)}`;
    case "proxy":
      return screen.session === null ? "/proxy" : `/proxy/${part(screen.session)}`;
    case "document":
      return `/documents/${part(screen.document)}`;
    case "settings":
      return `/settings/${part(screen.section)}`;
  }
}

export function panelOf(query: URLSearchParams): Panel | null {
  const name = query.get("panel");
  return name !== null && PANELS.includes(name) ? (name as Panel) : null;
}

/** The tree that a screen shows, if it shows one. */
export function treeOf(screen: Screen): string | null {
  return "tree" in screen ? screen.tree : null;
}
