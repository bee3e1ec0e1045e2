/** Everything known of the server: who reads, agents, trees, the open tree; fed by one event stream. */
import { SvelteMap } from "svelte/reactivity";
import { address, api, ApiError } from "../api/client";
import type { Agent, Event, Tree } from "../api/values";
import { type Connection, EventStream, type Message } from "./event-stream";
import type { Attempt, Presence, Run, TextPart } from "./runs";
import { TreeState } from "./tree.svelte";

const DYES = ["madder", "verdigris", "orchil", "moss", "weld", "cochineal"] as const;

export interface Job {
  id: string;
  kind: string;
  status: string;
  done: number;
  total: number;
  message?: string;
}

class GroveState {
  /** Undefined until it is known; null if nobody is signed in. */
  me: Agent | null | undefined = $state.raw(undefined);
  readonly agents = new SvelteMap<string, Agent>();
  trees: readonly Tree[] | null = $state.raw(null);
  open: TreeState | null = $state.raw(null);
  connection: Connection = $state.raw({ status: "connecting" });
  readonly runs = new SvelteMap<string, Run>();
  readonly jobs = new SvelteMap<string, Job>();
  preferences: Record<string, unknown> = $state.raw({});
  /** Listeners of screens that show more than this state. */
  private readonly listeners = new Set<(event: Event) => void>();
  private stream: EventStream | null = null;
  private wasLive = false;
  private treesStale: ReturnType<typeof setTimeout> | null = null;

  /** Sign in with the session's cookie and follow events. */
  async start(): Promise<void> {
    try {
      const [me, { agents }, { preferences }] = await Promise.all([
        api.get("/api/me"),
        api.get("/api/agents", { query: { archived: true } }),
        api.get("/api/preferences"),
      ]);
      for (const agent of agents) this.agents.set(agent.id, agent);
      this.preferences = preferences;
      this.me = me;
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.me = null;
      throw error;
    }
    this.stream = new EventStream({
      open: (cursor, signal) => api.fetch(address("/api/events", {}, { after: cursor ?? "now" }), { signal }),
      onMessage: (message) => this.take(message),
      onConnection: (connection) => this.connected(connection),
      isFinal: (error) => error instanceof ApiError && error.status === 401,
    });
    void this.stream.run();
  }

  retry() {
    this.stream?.retry();
  }

  get isLive(): boolean {
    return this.connection.status === "live" || this.connection.status === "connecting";
  }

  listen(listener: (event: Event) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async readTrees(): Promise<void> {
    this.trees = (await api.get("/api/trees", { query: { limit: 1_000 } })).trees;
  }

  /** Open a tree; the one that was open drops what it kept. */
  async openTree(id: string, node: string | null): Promise<TreeState> {
    if (this.open?.id !== id) {
      this.open = await TreeState.open(id, node);
      this.open.readPresence().catch(() => undefined);
      // What is being written began before this tree was looked at: its text so far is read, the rest arrives.
      await this.open.readRuns();
    }
    return this.open;
  }

  /** The dye of an author: the reader is ink, others keep the dye of their place in the list. */
  dye(agent: string): string {
    if (agent === this.me?.id) return "you";
    const others = [...this.agents.keys()].filter((id) => id !== this.me?.id).sort();
    const place = others.indexOf(agent);
    return DYES[(place < 0 ? DYES.length - 1 : place) % DYES.length]!;
  }

  nameOf(agent: string): string {
    if (agent === this.me?.id) return "You";
    return this.agents.get(agent)?.name ?? "Unknown";
  }

  isHuman(agent: string): boolean {
    return this.agents.get(agent)?.type !== "model";
  }

  /** Agents that can be asked. */
  get models(): Agent[] {
    return [...this.agents.values()].filter(({ type, archivedAt }) => type === "model" && archivedAt === null);
  }

  private connected(connection: Connection) {
    this.connection = connection;
    if (connection.status === "refused") this.me = null;
    if (connection.status !== "live") return;
    // Without a cursor, nothing tells what happened while the server was away.
    if (this.wasLive) this.open?.reread().catch(() => undefined);
    this.wasLive = true;
  }

  private take({ event, data }: Message) {
    const value: unknown = JSON.parse(data);
    switch (event) {
      case "text":
        if ((value as TextPart).tree === this.open?.id) this.open.attempts.take(value as TextPart);
        return;
      case "answer":
        if ((value as Attempt).tree === this.open?.id) this.open.attempts.update(value as Attempt);
        return;
      case "run":
        this.runs.set((value as Run).id, value as Run);
        return;
      case "turn":
        return;
      case "presence":
        if ((value as Presence).tree === this.open?.id) this.open.presence.set((value as Presence).agent, value as Presence);
        return;
      case "job":
        this.jobs.set((value as Job).id, value as Job);
        return;
      default:
        this.commit(value as Event);
    }
  }

  private commit(event: Event) {
    if (event.treeId !== null && event.treeId === this.open?.id) this.open.apply(event);
    if (event.kind.includes("agent")) void this.readAgents();
    if (this.trees !== null) {
      // Counters and order change with every event; a burst of events is one change of the list.
      this.treesStale ??= setTimeout(() => {
        this.treesStale = null;
        void this.readTrees().catch(() => undefined);
      }, 500);
    }
    for (const listener of this.listeners) listener(event);
  }

  private async readAgents() {
    const { agents } = await api.get("/api/agents", { query: { archived: true } });
    for (const agent of agents) this.agents.set(agent.id, agent);
  }
}

export const grove = new GroveState();
