/** The attempts of a tree while they are written: text is kept per attempt and shown once per frame. */
import { SvelteMap } from "svelte/reactivity";
import { api } from "../api/client";
import { answerKey, type Attempt, joinPart, type TextPart } from "./runs";

export class LiveAttempt {
  attempt: Attempt = $state.raw()!;
  text = $state("");
  thinking = $state("");
  readonly startedAt = Date.now();
  /** What arrived since the last frame. */
  private arrived: { text: string; end: number } = { text: "", end: 0 };
  private arrivedThinking: { text: string; end: number } = { text: "", end: 0 };

  constructor(attempt: Attempt) {
    this.attempt = attempt;
  }

  get isRunning(): boolean {
    return this.attempt.status === "running";
  }

  /** False if text before this part is missing. */
  take(part: TextPart): boolean {
    const before = part.kind === "thinking" ? this.arrivedThinking : this.arrived;
    const joined = joinPart(before.text, before.end, part);
    if (joined === null) return false;
    if (part.kind === "thinking") this.arrivedThinking = joined;
    else this.arrived = joined;
    return true;
  }

  endOf(kind: TextPart["kind"]): number {
    return kind === "thinking" ? this.arrivedThinking.end : this.arrived.end;
  }

  show() {
    this.text = this.arrived.text;
    this.thinking = this.arrivedThinking.text;
  }
}

export class LiveAttempts {
  readonly all = new SvelteMap<string, LiveAttempt>();
  /** Answers that ended while this tree was open. */
  readonly ended = new Map<string, Attempt>();
  private readonly changed = new Set<LiveAttempt>();
  private scheduled = false;

  /** Called when an attempt ends; the node is there by then, unless it failed. */
  constructor(private readonly onEnd: (attempt: Attempt) => void) {}

  /** Answers below a node, which is given by either of its ids. */
  below(...parent: string[]): LiveAttempt[] {
    return [...this.all.values()].filter(({ attempt }) => parent.includes(attempt.parent));
  }

  get running(): LiveAttempt[] {
    return [...this.all.values()].filter((live) => live.isRunning);
  }

  update(attempt: Attempt) {
    const key = answerKey(attempt);
    // The stream can be ahead of the answer to a request: what ended does not begin again.
    if (this.ended.has(key)) return;
    if (attempt.status !== "running") this.ended.set(key, attempt);
    const live = this.all.get(key);
    if (live) live.attempt = attempt;
    else if (attempt.status === "running" || attempt.status === "failed") this.all.set(key, new LiveAttempt(attempt));
    if (attempt.status !== "running") this.onEnd(attempt);
  }

  take(part: TextPart) {
    const { attempt: id, choice, run, tree, parent } = part;
    if (this.ended.has(answerKey({ id, choice }))) return;
    let live = this.all.get(answerKey({ id, choice }));
    if (!live) {
      // Text can come before its answer is announced.
      const unknown = { agent: "", name: "", model: "", node: null, error: null, usage: null, cost: null };
      live = new LiveAttempt({ id, choice, run, tree, parent, status: "running", offset: 0, ...unknown });
      this.all.set(answerKey({ id, choice }), live);
    }
    if (live.take(part)) this.schedule(live);
    else void this.fill(live, part.kind);
  }

  /** Follow an answer that began earlier. */
  async resume(attempt: Attempt) {
    if (!this.all.has(answerKey(attempt))) this.update(attempt);
    const live = this.all.get(answerKey(attempt));
    if (live) await this.fill(live, "text");
  }

  remove(attempt: Attempt) {
    this.all.delete(answerKey(attempt));
  }

  /** Read what is missing of a text. */
  private async fill(live: LiveAttempt, kind: TextPart["kind"]) {
    const { id: attempt, choice } = live.attempt;
    const query = { offset: live.endOf(kind), choice, kind };
    live.take(await api.call<TextPart>("GET", "/api/attempts/{attempt}/text", { path: { attempt }, query }));
    this.schedule(live);
  }

  /** Once per frame; a hidden tab has no frames and needs no hurry. */
  private schedule(live: LiveAttempt) {
    this.changed.add(live);
    if (this.scheduled) return;
    this.scheduled = true;
    const show = () => {
      this.scheduled = false;
      for (const each of this.changed) each.show();
      this.changed.clear();
    };
    if (document.hidden) setTimeout(show, 1_000);
    else requestAnimationFrame(show);
  }
}
