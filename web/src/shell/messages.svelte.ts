/** What the app says: toasts with a way back, and one polite voice for screen readers. */

export interface Toast {
  id: number;
  message: string;
  /** Takes back what the toast reports. */
  undo?: () => unknown;
  alarm: boolean;
}

const SHOWN_FOR = 8_000;

class Messages {
  toasts: readonly Toast[] = $state.raw([]);
  polite = $state("");
  assertive = $state("");
  private next = 1;

  /** Say what was done; the last toast of a kind is enough. */
  done(message: string, undo?: () => unknown) {
    this.show({ id: this.next++, message, alarm: false, ...(undo ? { undo } : {}) });
    this.announce(message);
  }

  failed(error: unknown) {
    const { message, hint } = error as { message: string; hint?: string };
    const text = hint ? `${message} · ${hint}` : message;
    this.show({ id: this.next++, message: text, alarm: true });
    this.assertive = text;
  }

  announce(message: string) {
    this.polite = message;
  }

  dismiss(id: number) {
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  private show(toast: Toast) {
    this.toasts = [...this.toasts.slice(-2), toast];
    setTimeout(() => this.dismiss(toast.id), SHOWN_FOR);
  }
}

export const messages = new Messages();

/** Do something that may fail; a failure is said, never lost. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) messages.failed(error);
    return undefined;
  }
}
