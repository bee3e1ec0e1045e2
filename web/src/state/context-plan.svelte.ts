/** The next request, planned while it is written: asked shortly after the last change, cancelled by the next. */
import { api, ApiError } from "../api/client";
import { type ContextAnswer, cutOf, outcomesOf } from "../api/context-answer";

const PAUSE = 60;

/** What may differ from the agent's and the tree's own settings, for this request only. */
export interface PlanSettings {
  agent?: string;
  n?: number;
  limit?: number;
  strategy?: string;
  step?: number;
  temperature?: number;
  maxTokens?: number;
  preferences?: Record<string, unknown>;
}

/** Who answers, and how often. */
export interface Answers {
  n: number;
  agents: readonly string[];
}

/** What the answers cost at most, and how much of the request the provider is expected to have in its cache. */
export interface Price {
  /** Null if the model's prices are not known. */
  dollars: string | null;
  cachedShare: number | null;
}

class ContextPlan {
  settings: PlanSettings = $state.raw({});
  answer: ContextAnswer | null = $state.raw(null);
  /** Null until it is known. */
  price: Price | null = $state.raw(null);
  error: ApiError | null = $state.raw(null);
  /** True while newer numbers are awaited: the old ones stay, dimmed. */
  isOld = $state(false);
  /** Milliseconds from the question to the plan. */
  took = $state(0);
  readonly cut = $derived(this.answer === null ? null : cutOf(this.answer.manifest.entries));
  readonly strategy = $derived((this.answer?.manifest.settings["truncationStrategy"] ?? "truncateMiddle") as string);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private request = new AbortController();
  private tree = "";

  /** Plan for a node and what is written below it. */
  ask(tree: string, node: string, text: string, answers: Answers) {
    clearTimeout(this.timer);
    if (this.tree !== tree) this.answer = this.price = null;
    this.tree = tree;
    const settings = this.settings;
    this.timer = setTimeout(() => void this.read(tree, node, text, settings, answers), PAUSE);
  }

  change(settings: PlanSettings) {
    this.settings = { ...this.settings, ...settings };
  }

  private async read(tree: string, node: string, text: string, settings: PlanSettings, { n, agents }: Answers) {
    this.request.abort();
    const request = new AbortController();
    this.request = request;
    const dim = setTimeout(() => (this.isOld = true), 100);
    const began = performance.now();
    const query = { ...settings, ...(text ? { text } : {}) };
    try {
      const path = { tree, node };
      const signal = request.signal;
      const priced = { ...query, n, rows: 0, price: true, ...(agents.length > 0 ? { agents } : {}) };
      const [answer, { price }] = await Promise.all([
        api.call<ContextAnswer>("GET", "/api/trees/{tree}/nodes/{node}/context", { path, query, signal }),
        api.call<{ price: Price | null }>("GET", "/api/trees/{tree}/nodes/{node}/plan", { path, query: priced, signal }),
      ]);
      this.answer = answer;
      this.price = price;
      this.took = Math.round(performance.now() - began);
      this.error = null;
    } catch (error) {
      if (request.signal.aborted) return;
      if (error instanceof ApiError && !error.isOffline) this.error = error;
    } finally {
      clearTimeout(dim);
      if (!request.signal.aborted) this.isOld = false;
    }
  }

  outcomes(path: readonly string[]) {
    return this.answer === null ? new Map<string, never>() : outcomesOf(this.answer.manifest.entries, path);
  }
}

export const plan = new ContextPlan();
