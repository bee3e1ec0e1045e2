/** The actions of the text: walk, write, mark. */
import type { Action } from "../actions/registry.svelte";
import { router } from "../router/router.svelte";
import { overlay } from "../shell/overlay.svelte";
import { Flag } from "../state/tree-shape";
import type { ReaderState } from "./reader.svelte";

export function readerActions(reader: ReaderState): Action[] {
  const { tree } = reader;
  const writable = () => !tree.isReadOnly;
  const has = (flag: number) => tree.shape.has(reader.row, flag);
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
    { id: "run.stop-one", label: "Stop the answer", keys: ["Escape"], group: "Make", when: () => overlay.open === null && reader.isWriting, do: () => reader.stop(reader.followed) },

    { id: "node.bookmark", label: () => (has(Flag.bookmarked) ? "Remove bookmark" : "Bookmark"), keys: ["b"], group: "Mark", when: writable, do: () => reader.bookmark(), undo: () => reader.undo() },
    { id: "node.exclude", label: () => (has(Flag.excluded) ? "Include" : "Exclude"), keys: ["x"], group: "Mark", when: writable, do: () => reader.exclude(), undo: () => reader.undo() },
    { id: "node.prune", label: "Prune", keys: ["p"], group: "Mark", when: () => writable() && reader.row > 1, do: () => reader.prune(), undo: () => reader.undo() },
    { id: "node.restore", label: "Restore", keys: ["P"], group: "Mark", when: () => writable() && has(Flag.pruned), do: () => reader.restore(), undo: () => reader.undo() },
    { id: "node.hoist", label: "Hoist", keys: ["h"], group: "Mark", do: () => router.go({ name: "map", tree: tree.id, hoist: tree.here }) },
    { id: "node.unhoist", label: "Show the whole tree", keys: ["H"], group: "Mark", do: () => router.go({ name: "map", tree: tree.id, hoist: null }) },

    { id: "write.compose", label: "To the composer", keys: ["i"], group: "Write", when: writable, do: () => reader.focusComposer() },
  ];
}

function back(reader: ReaderState) {
  const id = reader.tree.back();
  if (id !== undefined) reader.go(id, { reveal: "nearest" });
}
