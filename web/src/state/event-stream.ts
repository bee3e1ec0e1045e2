/** Server-sent events over fetch: resumed at the last id, with growing pauses after a lost connection. */

export interface Message {
  event: string;
  data: string;
  id: string | null;
}

/** Reads the text of a stream of server-sent events; what is incomplete waits for the next part. */
export class MessageParser {
  private rest = "";
  private fields: { event: string; data: string[]; id: string | null } = { event: "message", data: [], id: null };

  push(text: string): Message[] {
    const messages: Message[] = [];
    const lines = (this.rest + text).split(/\r\n|\n/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        const { event, data, id } = this.fields;
        if (data.length > 0) messages.push({ event, data: data.join("\n"), id });
        this.fields = { event: "message", data: [], id: null };
      } else {
        this.readField(line);
      }
    }
    return messages;
  }

  private readField(line: string) {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment keeps the connection open
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.fields.data.push(value);
    else if (name === "event") this.fields.event = value;
    else if (name === "id") this.fields.id = value;
  }
}

export type Connection =
  | { status: "connecting" }
  | { status: "live" }
  | { status: "waiting"; retryAt: number; attempts: number }
  | { status: "refused"; error: Error };

export interface StreamSettings {
  /** Opens the stream after a cursor; throws if the server does not answer. */
  open: (cursor: string | null, signal: AbortSignal) => Promise<Response>;
  onMessage: (message: Message) => void;
  onConnection: (connection: Connection) => void;
  /** True for an error that trying again does not mend, such as an expired session. */
  isFinal?: (error: unknown) => boolean;
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  now?: () => number;
  random?: () => number;
}

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;

export class EventStream {
  cursor: string | null = null;
  private readonly aborter = new AbortController();
  private stopped = false;
  private wake: (() => void) | null = null;
  private readonly settings: Required<StreamSettings>;

  constructor(settings: StreamSettings) {
    this.settings = { isFinal: () => false, wait: pause, now: Date.now, random: Math.random, ...settings };
  }

  /** Read until stopped. */
  async run(): Promise<void> {
    const { signal } = this.aborter;
    for (let attempts = 0; !this.stopped; attempts += 1) {
      try {
        this.settings.onConnection({ status: "connecting" });
        await this.read(signal, () => {
          attempts = 0;
          this.settings.onConnection({ status: "live" });
        });
      } catch (error) {
        if (this.settings.isFinal(error)) {
          this.settings.onConnection({ status: "refused", error: error as Error });
          return;
        }
      }
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it may have been stopped meanwhile
      if (this.stopped) return;
      await this.rest(attempts, signal);
    }
  }

  stop() {
    this.stopped = true;
    this.aborter.abort();
    this.wake?.();
  }

  /** Try now instead of when the pause is over. */
  retry() {
    this.wake?.();
  }

  private async read(signal: AbortSignal, opened: () => void) {
    const response = await this.settings.open(this.cursor, signal);
    if (!response.body) throw new Error("the stream has no body");
    opened();
    const parser = new MessageParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      for (const message of parser.push(value)) {
        if (message.id !== null) this.cursor = message.id;
        this.settings.onMessage(message);
      }
    }
  }

  private async rest(attempts: number, signal: AbortSignal) {
    const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempts);
    const milliseconds = longest * (0.7 + 0.3 * this.settings.random());
    this.settings.onConnection({ status: "waiting", retryAt: this.settings.now() + milliseconds, attempts: attempts + 1 });
    const woken = new Promise<void>((resolve) => (this.wake = resolve));
    await Promise.race([this.settings.wait(milliseconds, signal), woken]);
    this.wake = null;
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
