/** The actions of a tree: keys, palette, menus and buttons share them. */
import type { Action } from "../actions/registry.svelte";
import { router } from "../router/router.svelte";
import { overlay } from "../shell/overlay.svelte";
import { Flag } from "../state/tree-shape";
import type { ReaderState } from "./reader.svelte";

export function readerActions(reader: ReaderState): Action[] {
  const { tree } = reader;
  const writable = () => !tree.isReadOnly;
  const siblings = () => tree.shape.siblings(reader.row).length > 1;
  const has = (flag: number) => tree.shape.has(reader.row, flag);
  const at = (view: "compare") => router.go({ name: view, tree: tree.id, node: tree.here });
  return [
    { id: "walk.parent", label: "Parent", keys: ["ArrowUp"], group: "Walk", do: () => reader.walk("parent") },
    { id: "walk.child", label: "Child", keys: ["ArrowDown"], group: "Walk", do: () => reader.walk("child") },
    { id: "walk.previous", label: "Previous sibling", keys: ["ArrowLeft"], group: "Walk", do: () => reader.walk("previous") },
    { id: "walk.next", label: "Next sibling", keys: ["ArrowRight"], group: "Walk", do: () => reader.walk("next") },
    { id: "walk.point-above", label: "Branch point above", keys: ["["], group: "Walk", do: () => reader.branchPoint(-1) },
    { id: "walk.point-below", label: "Branch point below", keys: ["]"], group: "Walk", do: () => reader.branchPoint(1) },
    { id: "walk.bookmark", label: "Next bookmark", keys: ["B"], group: "Walk", do: () => reader.nextMarked((row) => tree.shape.has(row, Flag.bookmarked), "No bookmarks.") },
    { id: "walk.unread", label: "Next unread", keys: ["U"], group: "Walk", do: () => reader.nextMarked((row) => tree.arrivals.has(tree.shape.id(row)), "Nothing unread.") },
    { id: "walk.root", label: "Root", keys: ["Home"], group: "Walk", do: () => reader.go(tree.shape.id(1), { reveal: "nearest" }) },
    { id: "walk.leaf", label: "Leaf", keys: ["End"], group: "Walk", do: () => reader.go(tree.shape.id(tree.path.at(-1) ?? 1), { reveal: "nearest" }) },
    { id: "walk.back", label: "Back where I was", keys: ["`"], group: "Walk", do: () => back(reader) },
    { id: "walk.centre", label: "Bring this node into view", keys: ["."], group: "Walk", do: () => reader.reveal(tree.here) },

    { id: "node.generate", label: "Generate", keys: ["g"], group: "Make", when: writable, do: () => reader.ask(tree.here, reader.n) },
    { id: "node.edit", label: "Edit", keys: ["e"], group: "Make", when: writable, do: () => (reader.editing = tree.here) },
    { id: "node.annotate", label: "Annotate", keys: ["a"], group: "Make", when: writable, do: () => (reader.annotating = tree.here) },
    { id: "run.stop", label: "Stop writing", keys: ["Ctrl+."], group: "Make", inField: true, when: () => reader.isWriting, do: () => reader.stop() },
    { id: "run.stop-one", label: "Stop the answer", keys: ["Escape"], group: "Make", when: () => overlay.open === null && reader.isWriting, do: () => reader.stop(reader.followed) },

    { id: "node.bookmark", label: () => (has(Flag.bookmarked) ? "Remove bookmark" : "Bookmark"), keys: ["b"], group: "Mark", when: writable, do: () => reader.bookmark(), undo: () => reader.undo() },
    { id: "node.exclude", label: () => (has(Flag.excluded) ? "Include" : "Exclude"), keys: ["x"], group: "Mark", when: writable, do: () => reader.exclude(), undo: () => reader.undo() },
    { id: "node.prune", label: "Prune", keys: ["p"], group: "Mark", when: () => writable() && reader.row > 1, do: () => reader.prune(), undo: () => reader.undo() },
    { id: "node.restore", label: "Restore", keys: ["P"], group: "Mark", when: () => writable() && has(Flag.pruned), do: () => reader.restore(), undo: () => reader.undo() },
    { id: "node.hoist", label: "Hoist", keys: ["h"], group: "Mark", do: () => router.go({ name: "map", tree: tree.id, hoist: tree.here }) },
    { id: "node.unhoist", label: "Show the whole tree", keys: ["H"], group: "Mark", do: () => router.go({ name: "map", tree: tree.id, hoist: null }) },

    { id: "panel.map", label: "Map", keys: ["m"], group: "See", do: () => router.go({ name: "map", tree: tree.id, hoist: null }) },
    { id: "panel.context", label: "Context", keys: ["c"], group: "See", do: () => router.togglePanel("context") },
    { id: "panel.collaborator", label: "Collaborator", keys: ["o"], group: "See", do: () => router.togglePanel("collaborator") },
    { id: "panel.provenance", label: "Provenance", keys: ["v"], group: "See", do: () => router.togglePanel("provenance") },
    { id: "panel.tokens", label: "Token probabilities", keys: ["t"], group: "See", do: () => router.togglePanel("tokens") },
    { id: "panel.close", label: "Close the panel", keys: ["Escape"], group: "See", when: () => overlay.open === null && router.panel !== null && !reader.isWriting, do: () => router.setQuery({ panel: null, tab: null, vs: null }, false) },
    { id: "see.compare", label: "Compare siblings", keys: ["="], group: "See", when: siblings, do: () => at("compare") },
    { id: "see.stats", label: "Tokens and cost", keys: ["T"], group: "See", do: () => router.go({ name: "stats", tree: tree.id, path: tree.here }) },

    { id: "write.compose", label: "To the composer", keys: ["i"], group: "Write", when: writable, do: () => reader.focusComposer() },
    { id: "tree.undo", label: "Undo", keys: ["Ctrl+Z"], group: "Anywhere", do: () => reader.undo(), undo: () => reader.redo() },
    { id: "tree.redo", label: "Redo", keys: ["Ctrl+Shift+Z"], group: "Anywhere", do: () => reader.redo(), undo: () => reader.undo() },
    { id: "shell.panes", label: "Next pane", keys: ["F6"], group: "Anywhere", inField: true, do: nextPane },
  ];
}

function back(reader: ReaderState) {
  const id = reader.tree.back();
  if (id !== undefined) reader.go(id, { reveal: "nearest" });
}

/** Map, text, composer, inspector: the first place of each that can be focused. */
function nextPane() {
  const panes = [...document.querySelectorAll<HTMLElement>("aside.dock, [data-path], .composer, aside.inspector")];
  const at = panes.findIndex((pane) => pane.contains(document.activeElement));
  const next = panes[(at + 1) % panes.length];
  const inside = next?.querySelector<HTMLElement>('[tabindex="0"], textarea, button, a[href], input');
  (next?.matches("[data-path]") ? next : (inside ?? next))?.focus();
}
