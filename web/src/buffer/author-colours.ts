/** Author colours, boundaries and a ghost in the editor. */

import { RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { AuthoredSpan, Segment } from "./document-segments";

export interface Colouring {
  spans: readonly AuthoredSpan[];
  segments: readonly Segment[];
  dye: (author: string) => string;
  style: "colour" | "underline" | "plain";
  boundaries: boolean;
  /** A continuation that is shown at the end without being part of the document. */
  ghost: string;
}

export const setColouring = StateEffect.define<Colouring>();

class Seam extends WidgetType {
  override toDOM(): HTMLElement {
    const seam = document.createElement("span");
    seam.className = "seam";
    return seam;
  }
  override eq(): boolean {
    return true;
  }
}

class Ghost extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }
  override eq(other: Ghost): boolean {
    return other.text === this.text;
  }
  override toDOM(): HTMLElement {
    const ghost = document.createElement("span");
    ghost.className = "ghosted";
    ghost.setAttribute("aria-hidden", "true");
    ghost.textContent = this.text;
    const key = document.createElement("kbd");
    key.textContent = "Tab";
    ghost.append(" ", key);
    return ghost;
  }
}

function decorate(length: number, { spans, segments, dye, style, boundaries, ghost }: Colouring): DecorationSet {
  const marks: { from: number; to: number; value: Decoration }[] = [];
  if (style !== "plain") {
    for (const { author, from, to } of spans) {
      if (to <= length && to > from) marks.push({ from, to, value: Decoration.mark({ class: `by ${dye(author)} by--${style}` }) });
    }
  }
  if (boundaries) {
    for (const { to } of segments) if (to > 0 && to <= length) marks.push({ from: to, to, value: Decoration.widget({ widget: new Seam(), side: -1 }) });
  }
  const end = segments.at(-1)?.to ?? 0;
  if (end < length) marks.push({ from: end, to: length, value: Decoration.mark({ class: "pending" }) });
  if (ghost) marks.push({ from: length, to: length, value: Decoration.widget({ widget: new Ghost(ghost), side: 1 }) });
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to, value } of marks.sort((one, other) => one.from - other.from || one.value.startSide - other.value.startSide)) builder.add(from, to, value);
  return builder.finish();
}

export const authorColours = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    let next = decorations.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(setColouring)) next = decorate(transaction.newDoc.length, effect.value);
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});
