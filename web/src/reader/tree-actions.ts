/** The actions that every screen of a tree has: panels, views, undo. */
import type { Action } from "../actions/registry.svelte";
import { router } from "../router/router.svelte";
import type { Panel } from "../router/routes";
import { overlay } from "../shell/overlay.svelte";
import type { ReaderState } from "./reader.svelte";

export function treeActions(reader: ReaderState): Action[] {
  const { tree } = reader;
  const siblings = () => tree.shape.siblings(reader.row).length > 1;
  return [
    { id: "run.stop", label: "Stop writing", keys: ["Ctrl+."], group: "Make", inField: true, when: () => reader.isWriting, do: () => reader.stop() },
    { id: "panel.map", label: "Map", keys: ["m"], group: "See", do: () => router.go({ name: "map", tree: tree.id, hoist: null }) },
    { id: "panel.context", label: "Context", keys: ["c"], group: "See", do: () => openPanel(reader, "context") },
    { id: "panel.collaborator", label: "Collaborator", keys: ["o"], group: "See", do: () => openPanel(reader, "collaborator") },
    { id: "panel.provenance", label: "Provenance", keys: ["v"], group: "See", do: () => openPanel(reader, "provenance") },
    { id: "panel.tokens", label: "Token probabilities", keys: ["t"], group: "See", do: () => openPanel(reader, "tokens") },
    { id: "panel.close", label: "Close the panel", keys: ["Escape"], group: "See", when: () => overlay.open === null && router.panel !== null && !reader.isWriting, do: () => router.setQuery({ panel: null, tab: null, vs: null }, false) },
    { id: "see.compare", label: "Compare siblings", keys: ["="], group: "See", when: siblings, do: () => router.go({ name: "compare", tree: tree.id, node: tree.here }) },
    { id: "see.stats", label: "Tokens and cost", keys: ["T"], group: "See", do: () => router.go({ name: "stats", tree: tree.id, path: tree.here }) },

    { id: "tree.undo", label: "Undo", keys: ["Ctrl+Z"], group: "Anywhere", do: () => reader.undo(), undo: () => reader.redo() },
    { id: "tree.redo", label: "Redo", keys: ["Ctrl+Shift+Z"], group: "Anywhere", do: () => reader.redo(), undo: () => reader.undo() },
    { id: "shell.panes", label: "Next pane", keys: ["F6"], group: "Anywhere", inField: true, do: nextPane },
  ];
}

/** Panels lie beside the text: elsewhere, the text is opened with them. */
function openPanel(reader: ReaderState, panel: Panel) {
  if (router.screen.name !== "reader") router.go({ name: "reader", tree: reader.tree.id, node: reader.tree.here });
  router.togglePanel(panel);
}

/** Map, text, composer, inspector: the first place of each that can be focused. */
function nextPane() {
  const panes = [...document.querySelectorAll<HTMLElement>("aside.dock, [data-path], .composer, aside.inspector")];
  const at = panes.findIndex((pane) => pane.contains(document.activeElement));
  const next = panes[(at + 1) % panes.length];
  const inside = next?.querySelector<HTMLElement>('[tabindex="0"], textarea, button, a[href], input');
  (next?.matches("[data-path]") ? next : (inside ?? next))?.focus();
}
