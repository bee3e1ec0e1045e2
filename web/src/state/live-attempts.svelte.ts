/** The attempts of a tree while they are written: text is kept per attempt and shown once per frame. */
import { SvelteMap } from "svelte/reactivity";
import { api } from "../api/client";
import { type Attempt, joinPart, type TextPart } from "./runs";

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

  get end(): number {
    return this.arrived.end;
  }

  show() {
    this.text = this.arrived.text;
    this.thinking = this.arrivedThinking.text;
  }
}

export class LiveAttempts {
  readonly all = new SvelteMap<string, LiveAttempt>();
  private readonly changed = new Set<LiveAttempt>();
  private scheduled = false;

  /** Called when an attempt ends; the node is there by then, unless it failed. */
  constructor(private readonly onEnd: (attempt: Attempt) => void) {}

  below(parent: string): LiveAttempt[] {
    return [...this.all.values()].filter(({ attempt }) => attempt.parent === parent);
  }

  get running(): LiveAttempt[] {
    return [...this.all.values()].filter((live) => live.isRunning);
  }

  update(attempt: Attempt) {
    const live = this.all.get(attempt.id);
    if (!live) {
      if (attempt.status === "running" || attempt.status === "failed") this.all.set(attempt.id, new LiveAttempt(attempt));
    } else {
      live.attempt = attempt;
    }
    if (attempt.status !== "running") this.onEnd(attempt);
  }

  take(part: TextPart) {
    const { attempt: id, run, tree, parent } = part;
    let live = this.all.get(id);
    if (!live) {
      live = new LiveAttempt({ id, run, tree, parent, agent: "", status: "running", offset: 0 });
      this.all.set(id, live);
    }
    if (live.take(part)) this.schedule(live);
    else void this.fill(live, part);
  }

  remove(id: string) {
    this.all.delete(id);
  }

  private async fill(live: LiveAttempt, part: TextPart) {
    const path = `/api/attempts/${encodeURIComponent(live.attempt.id)}/text?offset=${live.end}`;
    const rest = await api.call<{ offset: number; end: number; text: string }>("GET", path);
    live.take({ ...part, ...rest, kind: "text" });
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
