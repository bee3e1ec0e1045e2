/** One open tree: its shape, the texts that were read, where the reader is, and what arrives. */
import { untrack } from "svelte";
import { SvelteMap, SvelteSet } from "svelte/reactivity";
import { api } from "../api/client";
import type { Agent, Cursor, Event, Node, Tree } from "../api/values";
import { LiveAttempts } from "./live-attempts.svelte";
import { answerKey, type Attempt, type Presence, type Run } from "./runs";
import { Flag, TreeShape } from "./tree-shape";

const WINDOW = 60;
const RANGE_GAP = 30;
const RANGE_LIMIT = 1_000;
/** Kinds of events that change nothing of the shape. */
const UNSEEN = new Set(["attempt", "envelope", "summarise", "timestamp", "certify", "type", "think", "recall", "stash", "unstash", "pin", "unpin"]);

export class TreeState {
  tree: Tree = $state.raw()!;
  shape: TreeShape = $state.raw()!;
  /** Nodes whose texts were read, by local id. */
  readonly nodes = new SvelteMap<string, Node>();
  /** The local id of the node where the reader is. */
  here = $state("");
  readonly attempts = new LiveAttempts((attempt) => this.ended(attempt));
  readonly presence = new SvelteMap<string, Presence>();
  readonly unread = new SvelteSet<string>();
  /** What arrived below a node that is shown, and was not looked at. */
  readonly arrivals = new SvelteSet<string>();
  private readonly lastChild = new SvelteMap<number, number>();
  private readonly visited: string[] = [];
  private readonly wanted = new Set<string>();
  private readonly localIds = new Map<string, string>();
  private refreshing: Promise<void> | null = null;
  private needsAll = false;
  private stale = false;

  /** From the root through the node where the reader is, down to the leaf that was last visited. */
  readonly path: readonly number[] = $derived.by(() => {
    const row = this.shape.row(this.here);
    const path = this.shape.path(row);
    for (let at = this.next(row); at > 0; at = this.next(at)) path.push(at);
    return path;
  });

  private constructor(readonly id: string) {}

  /** Open a tree at a node, or where the reader was. */
  static async open(id: string, node: string | null): Promise<TreeState> {
    // Not within the effect that asked: what is derived here outlives the screen that opened the tree.
    await Promise.resolve();
    const state = new TreeState(id);
    const path = { tree: id };
    const [tree, skeleton, first] = await Promise.all([
      api.get("/api/trees/{tree}", { path }),
      api.get("/api/trees/{tree}/skeleton", { path }),
      node ?? api.get("/api/trees/{tree}/cursor", { path }).then((cursor: Cursor) => cursor.nodeId),
    ]);
    const { nodes } = await api.get("/api/trees/{tree}/nodes/{node}/path", { path: { tree: id, node: first }, query: { tail: WINDOW } });
    state.tree = tree;
    state.shape = TreeShape.decode(skeleton);
    state.keep(nodes);
    state.here = nodes.at(-1)?.localId ?? state.shape.id(1);
    state.remember();
    return state;
  }

  get isReadOnly(): boolean {
    return this.tree.archivedAt !== null;
  }

  node(row: number): Node | undefined {
    return this.nodes.get(this.shape.id(row));
  }

  /** The child that was visited last, else the first one; 0 at a leaf. */
  next(row: number): number {
    const children = this.shape.children(row);
    const last = this.lastChild.get(row) ?? 0;
    return children.includes(last) ? last : (children[0] ?? 0);
  }

  /** Be at another node; returns false if there is no such node. */
  visit(id: string): boolean {
    if (this.shape.row(id) === 0) return false;
    if (this.here !== id) this.visited.push(this.here);
    this.here = id;
    this.remember();
    return true;
  }

  /** Where the reader was before. */
  back(): string | undefined {
    return this.visited.pop();
  }

  private remember() {
    const path = this.shape.path(this.shape.row(this.here));
    for (let index = 1; index < path.length; index += 1) this.lastChild.set(path[index - 1]!, path[index]!);
  }

  /** Read the texts of these rows, in as few requests as their numbers allow. */
  async load(rows: readonly number[]): Promise<void> {
    // What is there already is no reason for an effect to run again.
    const missing = untrack(() => rows.filter((row) => !this.nodes.has(this.shape.id(row)) && !this.wanted.has(this.shape.id(row))));
    for (const row of missing) this.wanted.add(this.shape.id(row));
    const numbers = missing.map((row) => this.shape.number(row));
    const reads = ranges(numbers).map(async ([first, last]) => {
      const { nodes } = await api.get("/api/trees/{tree}/nodes", { path: { tree: this.id }, query: { first, last } });
      this.keep(nodes);
    });
    try {
      await Promise.all(reads);
    } finally {
      for (const row of missing) this.wanted.delete(this.shape.id(row));
    }
  }

  keep(nodes: readonly Node[]) {
    for (const node of nodes) {
      this.nodes.set(node.localId, node);
      this.localIds.set(node.id, node.localId);
    }
  }

  /** The local id of a node that is named by either of its ids; the same if it was not read. */
  localId(id: string): string {
    return this.localIds.get(id) ?? id;
  }

  /** A committed event of this tree. */
  apply(event: Event) {
    if (event.kind === "switch") void this.readPresence();
    if (event.ordinal <= this.shape.revision || UNSEEN.has(event.kind)) return;
    const added = Array.isArray(event.payload["nodes"]) && event.payload["nodes"].length > 0;
    if (event.kind === "switch" && !added) return;
    if (!added || event.kind === "undo" || event.kind === "redo") this.needsAll = true;
    this.refresh().catch(() => undefined);
  }

  /** Who else is where. */
  async readPresence(): Promise<void> {
    const path = { tree: this.id };
    const { agents } = await api.call<{ agents: { agent: Agent; node: Node; at: string }[] }>("GET", "/api/trees/{tree}/presence", { path });
    for (const { agent, node, at } of agents) {
      this.keep([node]);
      this.presence.set(agent.id, { tree: this.id, agent: agent.id, name: agent.name, node: node.localId, at });
    }
  }

  /** What is known was changed, not only added to: the next refresh reads all of the shape. */
  changed() {
    this.needsAll = true;
  }

  /** Read everything again: the connection was lost in between. */
  async reread(): Promise<void> {
    this.needsAll = true;
    await this.refresh();
    await this.readRuns();
  }

  /** Follow what is being written now; what is not any more has ended meanwhile. */
  async readRuns(): Promise<void> {
    const { runs } = await api.call<{ runs: Run[] }>("GET", "/api/runs", { query: { tree: this.id } });
    const running = runs.flatMap((run) => run.attempts).filter(({ status }) => status === "running");
    const keys = new Set(running.map(answerKey));
    for (const live of this.attempts.running) if (!keys.has(answerKey(live.attempt))) this.attempts.remove(live.attempt);
    await Promise.all(running.map((attempt) => this.attempts.resume(attempt)));
  }

  /** Read what changed; while that is under way, further changes are read right after it. */
  refresh(): Promise<void> {
    if (this.refreshing) {
      this.stale = true;
      return this.refreshing;
    }
    this.refreshing = this.readChanges().finally(() => {
      this.refreshing = null;
      if (this.stale) {
        this.stale = false;
        void this.refresh();
      }
    });
    return this.refreshing;
  }

  private async readChanges() {
    const path = { tree: this.id };
    const all = this.needsAll;
    this.needsAll = false;
    const before = this.shape;
    const query = all ? {} : { first: before.lastNumber + 1 };
    const [tree, answer] = await Promise.all([
      api.get("/api/trees/{tree}", { path }),
      api.get("/api/trees/{tree}/skeleton", { path, query }),
    ]);
    this.tree = tree;
    this.shape = all ? TreeShape.decode(answer) : before.extended(answer);
    const added = Array.from({ length: this.shape.size - before.size }, (_, index) => before.size + 1 + index);
    if (all) this.forgetChanged(before);
    await this.load([...added.slice(-RANGE_LIMIT), ...this.path.slice(-WINDOW)]);
  }

  /** Nodes whose flags changed are read again: their labels may have, too. */
  private forgetChanged(before: TreeShape) {
    for (let row = 1; row <= before.size; row += 1) {
      if (before.skeleton.flags[row - 1] !== this.shape.skeleton.flags[row - 1]) this.nodes.delete(this.shape.id(row));
    }
  }

  /** An attempt ended: its node takes its place once it was read. */
  private ended(attempt: Attempt) {
    if (attempt.status === "failed") return;
    void this.refreshed().then(() => {
      this.attempts.remove(attempt);
      if (attempt.node !== null) this.onAnswer(this.localId(attempt.node), attempt);
    });
  }

  /** Called when an answer has become a node that is in the shape. */
  onAnswer: (id: string, attempt: Attempt) => void = () => undefined;

  /** Everything that is known now has been read. */
  async refreshed() {
    if (this.refreshing) await this.refreshing;
    await this.refresh();
  }

  isExcluded(row: number): boolean {
    return this.shape.has(row, Flag.excluded);
  }
}

/** Numbers as ranges that one request reads each; small gaps are read along. */
export function ranges(numbers: readonly number[]): [first: number, last: number][] {
  const found: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const open = found.at(-1);
    if (open && number - open[1] <= RANGE_GAP && number - open[0] < RANGE_LIMIT) open[1] = number;
    else found.push([number, number]);
  }
  return found;
}
