/** Markdown by block: each top-level block is rendered once, the last one stays plain text until it is closed. */

import MarkdownIt from "markdown-it";
import { openableAddress, sanitise } from "./sanitiser";

export interface MarkdownBlock {
  /** Where the block begins in the text: stable while the text grows. */
  start: number;
  source: string;
  /** Sanitised HTML; null while the block can still change. */
  html: string | null;
}

const parser = new MarkdownIt({ html: false, linkify: false, breaks: true, typographer: false });

parser.renderer.rules["link_open"] = (tokens, at) => {
  const address = openableAddress(String(tokens[at]!.attrGet("href") ?? ""));
  if (address === null) return '<span class="link-refused">';
  const shown = parser.utils.escapeHtml(address);
  return `<a role="link" tabindex="0" data-address="${shown}" title="${shown}">`;
};
parser.renderer.rules["link_close"] = (tokens, at) => {
  let open = at;
  for (let nested = 1; nested > 0 && open > 0;) {
    open--;
    if (tokens[open]!.type === "link_close") nested++;
    if (tokens[open]!.type === "link_open") nested--;
  }
  return openableAddress(String(tokens[open]!.attrGet("href") ?? "")) === null ? "</span>" : "</a>";
};
// An image would be fetched from elsewhere as soon as it is shown: it is named instead.
parser.renderer.rules["image"] = (tokens, at) => {
  const token = tokens[at]!;
  const address = openableAddress(String(token.attrGet("src") ?? ""));
  const name = parser.utils.escapeHtml(token.content || "image");
  if (address === null) return `<span class="link-refused">${name}</span>`;
  const shown = parser.utils.escapeHtml(address);
  return `<a role="link" tabindex="0" class="image-link" data-address="${shown}" title="${shown}">${name}</a>`;
};

interface SourceRange {
  start: number;
  end: number;
}

function renderSource(source: string): string {
  return sanitise(parser.render(source));
}

/** The top-level blocks of a text, as ranges of its characters that together are the whole text. */
function blockRanges(text: string): SourceRange[] {
  const lines = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines.push(at + 1);
  const starts: number[] = [];
  for (const token of parser.parse(text, {})) {
    if (token.level === 0 && token.nesting >= 0 && token.map) starts.push(lines[token.map[0]] ?? text.length);
  }
  if (starts.length === 0) return text ? [{ start: 0, end: text.length }] : [];
  starts[0] = 0;
  return starts.map((start, at) => ({ start, end: starts[at + 1] ?? text.length }));
}

/** A text that is complete: all blocks rendered. */
export function renderMarkdown(text: string): MarkdownBlock[] {
  return blockRanges(text).map(({ start, end }) => {
    const source = text.slice(start, end);
    return { start, source, html: renderSource(source) };
  });
}

/** A text that grows at its end: closed blocks are rendered once and kept. */
export class MarkdownStream {
  private text = "";
  private closed: MarkdownBlock[] = [];
  private closedEnd = 0;

  /** The blocks of the text so far; `complete` closes the last one. */
  update(text: string, complete: boolean): MarkdownBlock[] {
    if (!text.startsWith(this.text)) {
      this.closed = [];
      this.closedEnd = 0;
    }
    this.text = text;
    const ranges = blockRanges(text.slice(this.closedEnd));
    const from = this.closedEnd;
    const last = ranges.pop();
    for (const { start, end } of ranges) {
      const source = text.slice(from + start, from + end);
      this.closed.push({ start: from + start, source, html: renderSource(source) });
      this.closedEnd = from + end;
    }
    if (!last) return [...this.closed];
    const source = text.slice(from + last.start);
    const open = { start: from + last.start, source, html: complete ? renderSource(source) : null };
    return [...this.closed, open];
  }
}
