/** Drafts, one per node, kept in this browser as they are typed: they outlive the tab, the server and the machine. */

const PREFIX = "weft.draft.";

export interface DraftStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export class Drafts {
  constructor(private readonly storage: DraftStorage) {}

  /** What was being written: a turn below a node, or a change of the node itself. */
  read(tree: string, node: string, kind: "turn" | "edit" | "note" = "turn"): string {
    return this.storage.getItem(key(tree, node, kind)) ?? "";
  }

  /** False if the browser has no room for it. */
  write(tree: string, node: string, text: string, kind: "turn" | "edit" | "note" = "turn"): boolean {
    try {
      if (text === "") this.storage.removeItem(key(tree, node, kind));
      else this.storage.setItem(key(tree, node, kind), text);
      return true;
    } catch {
      return false;
    }
  }
}

function key(tree: string, node: string, kind: string): string {
  return `${PREFIX}${kind}.${tree}.${node}`;
}
