/** Where the reader is: the address bar as state. Back undoes navigation, never writing. */
import { type Panel, panelOf, parseRoute, type Route, type Screen, screenPath } from "./routes";

class Router {
  route: Route = $state.raw(parseRoute(new URL(location.href)));

  constructor() {
    addEventListener("popstate", () => this.read());
    document.addEventListener("click", (event) => this.follow(event));
  }

  get screen(): Screen {
    return this.route.screen;
  }

  get panel(): Panel | null {
    return panelOf(this.route.query);
  }

  private read() {
    this.route = parseRoute(new URL(location.href));
  }

  /** Open a screen; panels stay open while the tree stays the same. */
  go(screen: Screen, options: { replace?: boolean; keepPanel?: boolean } = {}) {
    const url = new URL(screenPath(screen), location.origin);
    if (options.keepPanel ?? screen.name === "reader") {
      for (const name of ["panel", "tab", "vs"]) {
        const value = this.route.query.get(name);
        if (value !== null) url.searchParams.set(name, value);
      }
    }
    this.open(url, options.replace ?? false);
  }

  /** Change the query of this address: null takes a parameter away. */
  setQuery(values: Record<string, string | null>, replace = true) {
    const url = new URL(location.href);
    for (const [name, value] of Object.entries(values)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    this.open(url, replace);
  }

  togglePanel(panel: Panel) {
    const values = this.panel === panel ? { panel: null, tab: null, vs: null } : { panel, tab: null, vs: null };
    this.setQuery(values, false);
  }

  open(url: URL, replace: boolean) {
    if (url.href === location.href) return;
    if (replace) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
    this.read();
  }

  /** Links within the app open without loading the page again. */
  private follow(event: MouseEvent) {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const url = new URL(link.href, location.href);
    const known = parseRoute(url).screen.name !== "missing";
    if (url.origin !== location.origin || link.target || link.hasAttribute("download") || !known) return;
    if (url.hash && url.pathname === location.pathname) return;
    event.preventDefault();
    this.open(url, false);
  }
}

export const router = new Router();
