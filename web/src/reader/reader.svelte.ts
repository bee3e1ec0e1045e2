/** What the reader does in a tree: walk, write, generate, mark. Server state stays in `TreeState`. */
import { api } from "../api/client";
import { type HistoryStep, type Node, textOf } from "../api/values";
import { router } from "../router/router.svelte";
import { attempt, messages } from "../shell/messages.svelte";
import { plan } from "../state/context-plan.svelte";
import { Drafts } from "../state/drafts";
import { grove } from "../state/grove.svelte";
import type { LiveAttempt } from "../state/live-attempts.svelte";
import { answerKey, type Attempt, type Run } from "../state/runs";
import { Flag } from "../state/tree-shape";
import type { TreeState } from "../state/tree.svelte";
import { counted } from "../words";

export const drafts = new Drafts(localStorage);

/** How a walk shows where it went: keys bring the node into view, links and answers do not scroll. */
export type Reveal = "nearest" | "none";

export class ReaderState {
  draft = $state("");
  /** The node that is edited in place, or that a note is written for. */
  editing: string | null = $state(null);
  annotating: string | null = $state(null);
  /** The answer that this reader asked for and watches: it becomes the node where the reader is. */
  following: string | null = $state(null);
  agents: string[] = $state.raw([]);
  n = $state(1);
  /** Ranges that were folded are shown while they are open, by their name. */
  readonly opened = $state<Record<string, boolean>>({});
  /** Set by the view: brings a node into view. */
  reveal: (id: string) => void = () => undefined;
  focusComposer: () => void = () => undefined;

  constructor(readonly tree: TreeState) {
    this.draft = drafts.read(tree.id, tree.here);
    this.n = Number(localStorage.getItem("weft.n") ?? "1") || 1;
  }

  get row(): number {
    return this.tree.shape.row(this.tree.here);
  }

  get node(): Node | undefined {
    return this.tree.nodes.get(this.tree.here);
  }

  /** Answers that are being written below the node where the reader is. */
  get live(): LiveAttempt[] {
    return this.tree.attempts.below(this.tree.here, this.node?.id ?? "");
  }

  get followed(): LiveAttempt | undefined {
    const live = this.live;
    return live.find(({ attempt: each }) => answerKey(each) === this.following);
  }

  /** Be at another node. */
  go(id: string, options: { reveal?: Reveal; replace?: boolean } = {}) {
    const here = this.tree.here;
    if (id === here || !this.tree.visit(id)) return;
    this.draft = drafts.read(this.tree.id, id);
    this.editing = null;
    this.annotating = null;
    this.following = null;
    router.go({ name: "reader", tree: this.tree.id, node: id }, { replace: options.replace ?? false });
    if (options.reveal === "nearest") this.reveal(id);
    this.tellOthers(id);
  }

  private telling: ReturnType<typeof setTimeout> | undefined;

  /** Others see where this reader is; a walk tells only where it ended. */
  private tellOthers(id: string) {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const path = { tree: this.tree.id };
      api.post("/api/trees/{tree}/switch", { path, body: { to: id } }).catch(() => undefined);
    }, 400);
  }

  /** Go one step; where there is none, stay. */
  walk(direction: "parent" | "child" | "previous" | "next") {
    const { shape } = this.tree;
    const siblings = shape.siblings(this.row);
    const place = siblings.indexOf(this.row);
    const row = {
      parent: () => shape.parent(this.row),
      child: () => this.tree.next(this.row),
      previous: () => siblings[place - 1] ?? 0,
      next: () => siblings[place + 1] ?? 0,
    }[direction]();
    if (row > 0) this.go(shape.id(row), { reveal: "nearest" });
  }

  /** The next node of the path that is a choice among siblings. */
  branchPoint(direction: -1 | 1) {
    const { path, shape } = this.tree;
    for (let place = path.indexOf(this.row) + direction; path[place] !== undefined; place += direction) {
      if (shape.siblings(path[place]!).length > 1) return this.go(shape.id(path[place]!), { reveal: "nearest" });
    }
  }

  /** The next node with a flag, in the order of writing, round to the first one. */
  nextMarked(isMarked: (row: number) => boolean, nothing: string) {
    const { shape } = this.tree;
    for (let step = 1; step <= shape.size; step += 1) {
      const row = ((this.row - 1 + step) % shape.size) + 1;
      if (isMarked(row) && !shape.has(row, Flag.undone | Flag.pruned)) return this.go(shape.id(row), { reveal: "nearest" });
    }
    messages.announce(nothing);
  }

  type(text: string) {
    this.draft = text;
    if (!drafts.write(this.tree.id, this.tree.here, text)) messages.failed(new Error("This browser has no room to keep the draft."));
  }

  /** Write the draft as a node; the reader is there then. Returns where. */
  async say(): Promise<string | undefined> {
    const text = this.draft.trim();
    if (text === "") return this.tree.here;
    const parent = this.tree.here;
    const node = await attempt(() =>
      api.post("/api/trees/{tree}/nodes", {
        path: { tree: this.tree.id },
        body: { content: text, parent },
        idempotencyKey: this.draftKey(text),
      }),
    );
    if (!node) return undefined;
    drafts.write(this.tree.id, parent, "");
    this.tree.keep([node]);
    await this.tree.refresh();
    this.go(node.localId, { reveal: "nearest" });
    return node.localId;
  }

  /** The same draft sent twice is one node. */
  private draftKey(text: string): string {
    if (this.keyed?.text !== text || this.keyed.node !== this.tree.here) this.keyed = { text, node: this.tree.here, key: crypto.randomUUID() };
    return this.keyed.key;
  }
  private keyed: { text: string; node: string; key: string } | null = null;

  /** Say what is written, if anything, and ask for continuations. */
  async generate(n = this.n) {
    const node = await this.say();
    if (node !== undefined) await this.ask(node, n);
  }

  /** Ask for continuations of a node; the first answer is watched if the reader is there. */
  async ask(node: string, n: number) {
    const { agent, ...settings } = plan.settings;
    const body = { ...settings, n, ...(this.agents.length > 0 ? { agents: this.agents } : agent ? { agent } : {}) };
    const started = await attempt(() =>
      api.call<{ run: Run }>("POST", "/api/trees/{tree}/nodes/{node}/generate", {
        path: { tree: this.tree.id, node },
        body,
        idempotencyKey: crypto.randomUUID(),
      }),
    );
    if (!started) return;
    for (const each of started.run.attempts) this.tree.attempts.update(each);
    messages.announce(`Writing ${counted(n * Math.max(1, this.agents.length), "continuation")}.`);
    const first = started.run.attempts[0];
    if (this.tree.here !== node || !first) return;
    this.following = answerKey(first);
    const ended = this.tree.attempts.ended.get(this.following);
    if (ended?.node) {
      await this.tree.refresh();
      this.answered(this.tree.localId(ended.node), ended);
    } else {
      this.reveal("live");
    }
  }

  /** An answer became a node: if the reader watched it and did not move, it is where the reader is now. */
  answered(id: string, answer: Attempt) {
    const { shape } = this.tree;
    const below = shape.parent(shape.row(id)) === this.row;
    const words = answer.status === "interrupted" ? "was interrupted, what came is kept" : "finished";
    messages.announce(`${answer.name} ${words}.`);
    if (below && this.following === answerKey(answer)) this.go(id, { reveal: "none", replace: true });
    else if (answer.agent !== grove.me?.id) this.tree.arrivals.add(id);
  }

  async stop(live?: LiveAttempt) {
    const running = this.tree.attempts.running;
    if (live) await attempt(() => api.call("POST", "/api/attempts/{attempt}/stop", { path: { attempt: live.attempt.id } }));
    else for (const run of new Set(running.map((each) => each.attempt.run))) await attempt(() => api.call("POST", "/api/runs/{run}/stop", { path: { run } }));
  }

  get isWriting(): boolean {
    return this.tree.attempts.running.length > 0;
  }

  async saveEdit(id: string, text: string) {
    const row = this.tree.shape.row(id);
    const before = this.tree.nodes.get(id);
    if (before && textOf(before.content) === text) {
      this.editing = null;
      drafts.write(this.tree.id, id, "", "edit");
      return;
    }
    const below = this.tree.shape.countBelow(row);
    const node = await attempt(() => api.post("/api/trees/{tree}/nodes/{node}/edit", { path: { tree: this.tree.id, node: id }, body: { content: text } }));
    if (!node) return;
    drafts.write(this.tree.id, id, "", "edit");
    this.tree.keep([node]);
    await this.tree.refresh();
    const siblings = this.tree.shape.siblings(this.tree.shape.row(node.localId));
    this.go(node.localId, { reveal: "nearest" });
    const rest = below > 0 ? `; ${counted(below, "node")} stay on ${siblings.indexOf(row) + 1}/${siblings.length}` : "";
    messages.done(`Saved as a branch beside ${id}${rest}`, () => this.undo());
  }

  async annotate(id: string, text: string) {
    const note = await attempt(() => api.post("/api/trees/{tree}/nodes/{node}/annotate", { path: { tree: this.tree.id, node: id }, body: { content: text } }));
    if (!note) return;
    drafts.write(this.tree.id, id, "", "note");
    this.annotating = null;
    await this.tree.refresh();
    messages.done("Note written", () => this.undo());
  }

  async bookmark(id = this.tree.here) {
    const marked = this.tree.shape.has(this.tree.shape.row(id), Flag.bookmarked);
    await this.change(marked ? "unbookmark" : "bookmark", id, marked ? `Bookmark of ${id} removed` : `Bookmarked ${id}`);
  }

  async exclude(id = this.tree.here) {
    const excluded = this.tree.shape.has(this.tree.shape.row(id), Flag.excluded);
    await this.change(excluded ? "include" : "exclude", id, excluded ? `${id} is included again` : `${id} is excluded from contexts`);
  }

  async prune(id = this.tree.here) {
    const { shape } = this.tree;
    const row = shape.row(id);
    const count = shape.countBelow(row) + 1;
    const siblings = shape.siblings(row).filter((each) => each !== row);
    const next = siblings.find((each) => each > row) ?? siblings.at(-1) ?? shape.parent(row);
    const onPath = this.tree.path.includes(row) && this.tree.path.indexOf(row) <= this.tree.path.indexOf(this.row);
    if ((await this.change("prune", id, `Pruned ${counted(count, "node")}`)) && onPath) this.go(shape.id(next), { reveal: "nearest" });
  }

  async restore(id = this.tree.here) {
    await this.change("restore", id, `Restored ${id}`);
  }

  private async change(verb: "bookmark" | "unbookmark" | "exclude" | "include" | "prune" | "restore", node: string, message: string): Promise<boolean> {
    const done = await attempt(() => api.call("POST", `/api/trees/{tree}/nodes/{node}/${verb}`, { path: { tree: this.tree.id, node } }));
    if (done === undefined) return false;
    this.tree.changed();
    await this.tree.refresh();
    messages.done(message, () => this.undo());
    return true;
  }

  async undo() {
    await this.step("undo");
  }

  async redo() {
    await this.step("redo");
  }

  private async step(direction: "undo" | "redo") {
    const path = { tree: this.tree.id };
    let first: HistoryStep | undefined;
    do {
      const answer = await attempt(() => api.call<{ steps: HistoryStep[] }>("POST", `/api/trees/{tree}/${direction}`, { path }));
      if (!answer) return;
      first = answer.steps[0];
      // Where one looked is not what one did: undo goes on to what was written.
    } while (first?.kind === "switch" && first.nodes.length === 0);
    this.tree.changed();
    await this.tree.refresh();
    messages.done(`${direction === "undo" ? "Undid" : "Redid"}: ${first?.kind ?? "nothing"}`, direction === "undo" ? () => this.redo() : () => this.undo());
    this.leaveHidden();
  }

  /** Where the reader is may have been undone: go to what is above it. */
  leaveHidden() {
    const { shape } = this.tree;
    let row = this.row;
    while (row > 1 && shape.has(row, Flag.undone)) row = shape.parent(row);
    if (row !== this.row && row > 0) this.go(shape.id(row), { reveal: "nearest", replace: true });
  }
}

/** The reader of the open tree. */
class Readers {
  private known: ReaderState | null = null;

  get current(): ReaderState | null {
    if (grove.open && this.known?.tree !== grove.open) this.known = new ReaderState(grove.open);
    return grove.open ? this.known : null;
  }
}

export const readers = new Readers();
