/** One document of a buffer tree: the path as text, who wrote it, what is not committed, what could come next. */

import { SvelteMap } from "svelte/reactivity";
import { api } from "../api/client";
import { type AuthorSpan, type Cursor, type Node, textOf } from "../api/values";
import { router } from "../router/router.svelte";
import { attempt, messages } from "../shell/messages.svelte";
import type { TreeState } from "../state/tree.svelte";
import { type DocumentSegments, editedSegments, joinSegments } from "./document-segments";

export class BufferState {
  nodes: readonly Node[] = $state.raw([]);
  ghosts: readonly Node[] = $state.raw([]);
  /** What is written after the last node. */
  tail = $state("");
  problem = $state("");
  private readonly spans = new SvelteMap<string, AuthorSpan[]>();
  private typing: ReturnType<typeof setTimeout> | undefined;
  private writing: Promise<unknown> = Promise.resolve();
  /** What was typed and is not on the server yet. */
  private unsaved = false;

  constructor(readonly tree: TreeState) {}

  readonly document: DocumentSegments = $derived(
    joinSegments(this.nodes.map((node) => ({ id: node.localId, text: textOf(node.content), author: node.authorId, spans: this.spans.get(node.id) ?? null }))),
  );

  get end(): Node | undefined {
    return this.nodes.at(-1);
  }

  private url(rest: string): string {
    return `/api/trees/${this.tree.id}/${rest}`;
  }

  /** Read the path to where the reader is, its authors, and what goes on from it. */
  async read(): Promise<void> {
    try {
      const here = encodeURIComponent(this.tree.here);
      const [{ nodes }, { text }] = await Promise.all([
        api.call<{ nodes: Node[] }>("GET", this.url(`nodes/${here}/path`)),
        api.call<{ text: string }>("GET", this.url("buffer")),
      ]);
      await Promise.all(
        nodes.filter((node) => node.editedFrom !== null && !this.spans.has(node.id)).map(async (node) => this.spans.set(node.id, (await api.call<{ spans: AuthorSpan[] }>("GET", this.url(`nodes/${node.id}/authorship`))).spans)),
      );
      const end = nodes.at(-1);
      this.ghosts = end ? (await api.call<{ nodes: Node[] }>("GET", this.url(`nodes/${end.id}/children`))).nodes : [];
      this.nodes = nodes;
      // Edits above and switches make a node of the tail: the server knows what is left of it.
      if (!this.unsaved) this.tail = text;
      this.problem = "";
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  /** The editor's text changed: the tail is kept at once, edits of nodes when `commitEdits` is called. */
  changed(text: string): void {
    const { tail, edited } = editedSegments(this.document.segments, this.document.text + this.tail, text);
    if (edited.length === 0 && tail !== this.tail) {
      this.tail = tail;
      this.unsaved = true;
      clearTimeout(this.typing);
      this.typing = setTimeout(() => void this.keepTail(), 250);
    }
  }

  private keepTail(): Promise<unknown> {
    clearTimeout(this.typing);
    const text = this.tail;
    if (this.unsaved) {
      this.writing = this.writing.then(async () => {
        await attempt(() => api.call("PUT", this.url("buffer"), { body: { text } }));
        if (this.tail === text) this.unsaved = false;
      });
    }
    return this.writing;
  }

  hasEdits(text: string): boolean {
    return editedSegments(this.document.segments, this.document.text + this.tail, text).edited.length > 0;
  }

  /** Write the nodes whose text was changed in the editor as versions. */
  async commitEdits(text: string): Promise<void> {
    const { edited } = editedSegments(this.document.segments, this.document.text + this.tail, text);
    await this.keepTail();
    for (const { id, text: content } of edited) {
      const node = this.nodes.find(({ localId }) => localId === id);
      if (!node) continue;
      const saved = await attempt(() => api.call<Node>("POST", this.url(`nodes/${node.id}/edit`), { body: { content } }));
      if (saved) messages.done(`${id}: a new version.`, () => this.undo());
    }
    if (edited.length === 0) return;
    // The edit made a node of the tail: the document ends there now.
    const { nodeId } = await api.call<Cursor>("GET", this.url("cursor"));
    await this.arrive((await api.call<Node>("GET", this.url(`nodes/${nodeId}`))).localId);
  }

  private async undo(): Promise<void> {
    await attempt(() => api.call("POST", this.url("undo")));
    await this.read();
  }

  /** Make a node of what is not committed; returns where the document ends. */
  async commitTail(): Promise<Node | undefined> {
    if (this.tail.trim() === "") return this.end;
    await this.keepTail();
    const node = await attempt(() => api.call<Node>("POST", this.url("commit")));
    if (!node) return undefined;
    this.tail = "";
    await this.tree.refreshed();
    await this.arrive(node.localId);
    return node;
  }

  async continueWith(agents: readonly string[], count: number): Promise<void> {
    const end = await this.commitTail();
    if (end) await attempt(() => api.call("POST", this.url(`nodes/${end.id}/generate`), { body: { n: count, ...(agents.length ? { agents } : {}) } }));
  }

  /** The document goes on with a ghost. */
  async take(ghost: Node): Promise<void> {
    await this.commitTail();
    await attempt(() => api.call("POST", this.url("switch"), { body: { to: ghost.id } }));
    await this.arrive(ghost.localId);
  }

  async goTo(node: Node): Promise<void> {
    await this.keepTail();
    await attempt(() => api.call("POST", this.url("switch"), { body: { to: node.id } }));
    await this.arrive(node.localId);
  }

  /** The document ends here now; its address says so. */
  private async arrive(id: string): Promise<void> {
    await this.tree.refreshed();
    this.tree.visit(id);
    router.go({ name: "reader", tree: this.tree.id, node: id });
    await this.read();
  }
}
