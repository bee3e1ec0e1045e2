/** A document of a buffer tree: the nodes of a path end to end, with who wrote which characters. */

export interface AuthoredSpan {
  author: string;
  /** In UTF-16 units of the document, as an editor counts. */
  from: number;
  to: number;
}

export interface Segment {
  /** The local id of the node. */
  id: string;
  from: number;
  to: number;
}

export interface SegmentSource {
  id: string;
  text: string;
  author: string;
  /** Who wrote which characters, in code points; null if one author wrote all. */
  spans: readonly { authorId: string; start: number; end: number }[] | null;
}

export interface DocumentSegments {
  text: string;
  segments: Segment[];
  spans: AuthoredSpan[];
}

export function joinSegments(sources: readonly SegmentSource[]): DocumentSegments {
  let text = "";
  const segments: Segment[] = [];
  const spans: AuthoredSpan[] = [];
  for (const source of sources) {
    const from = text.length;
    text += source.text;
    segments.push({ id: source.id, from, to: text.length });
    if (source.spans === null) {
      if (text.length > from) spans.push({ author: source.author, from, to: text.length });
      continue;
    }
    const offsets = unitOffsets(source.text);
    for (const { authorId, start, end } of source.spans) {
      const [first, last] = [from + (offsets[start] ?? source.text.length), from + (offsets[end] ?? source.text.length)];
      if (last > first) spans.push({ author: authorId, from: first, to: last });
    }
  }
  return { text, segments, spans };
}

/** For each code point of a text, where it begins in UTF-16 units; one more for the end. */
function unitOffsets(text: string): number[] {
  const offsets: number[] = [];
  let at = 0;
  for (const character of text) {
    offsets.push(at);
    at += character.length;
  }
  offsets.push(at);
  return offsets;
}

/** The share of each author, the largest first. */
export function authorShares(spans: readonly AuthoredSpan[]): { author: string; share: number }[] {
  const sums = new Map<string, number>();
  let total = 0;
  for (const { author, from, to } of spans) {
    sums.set(author, (sums.get(author) ?? 0) + to - from);
    total += to - from;
  }
  return [...sums].map(([author, sum]) => ({ author, share: sum / total })).sort((one, other) => other.share - one.share);
}

/** The segment at a place of the document; a place between two belongs to the one before. */
export function segmentAt(segments: readonly Segment[], place: number): Segment | undefined {
  return segments.find(({ from, to }) => place > from && place <= to) ?? segments.find(({ from, to }) => place >= from && place <= to);
}

/**
 * What a change of the document means for its nodes.
 *
 * `edited` has the new text of each node that was touched, `tail` what was written after the last one. Text inserted
 * between two nodes belongs to the one before it.
 */
export function editedSegments(segments: readonly Segment[], before: string, after: string): { edited: { id: string; text: string }[]; tail: string } {
  let start = 0;
  const most = Math.min(before.length, after.length);
  while (start < most && before[start] === after[start]) start++;
  let left = before.length;
  let right = after.length;
  while (left > start && right > start && before[left - 1] === after[right - 1]) {
    left--;
    right--;
  }
  const end = segments.at(-1)?.to ?? 0;
  if (start >= end && left >= end) return { edited: [], tail: after.slice(end) };
  const grown = right - left;
  const edited: { id: string; text: string }[] = [];
  let taken = false;
  for (const segment of segments) {
    if (segment.to < start || segment.from > left || (segment.to === start && segment.to !== end && left > segment.to)) continue;
    const head = before.slice(segment.from, Math.min(Math.max(start, segment.from), segment.to));
    const tail = before.slice(Math.min(Math.max(left, segment.from), segment.to), segment.to);
    // The inserted words go to the first node that the change touches.
    const inserted = taken ? "" : after.slice(start, right);
    const text = head + inserted + tail;
    taken = true;
    if (text !== before.slice(segment.from, segment.to)) edited.push({ id: segment.id, text });
  }
  return { edited, tail: after.slice(end + grown) };
}
