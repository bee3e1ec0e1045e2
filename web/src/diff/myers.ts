/** Myers' difference of two sequences in linear space, bounded: sequences with little in common do not hang. */

/** A stretch that both sequences share: `length` items from `left` in one and from `right` in the other. */
export interface Match {
  left: number;
  right: number;
  length: number;
}

/**
 * The shared stretches of two sequences of numbers, in order.
 *
 * The fewest insertions and deletions, unless a part needs more than `bound` of them: there the search stops, and
 * the part is divided where it came furthest.
 */
export function matchSequences(one: Int32Array, other: Int32Array, bound = 512): Match[] {
  const matches: Match[] = [];
  const most = Math.min(bound, Math.ceil((one.length + other.length) / 2) + 1);
  const forward = new Int32Array(2 * most + 3);
  const backward = new Int32Array(2 * most + 3);
  const add = (left: number, right: number, length: number): void => {
    if (length === 0) return;
    const last = matches.at(-1);
    if (last && last.left + last.length === left && last.right + last.length === right) last.length += length;
    else matches.push({ left, right, length });
  };
  // Parts still to compare; a part with `length` is a match that waits for its turn.
  const parts: { from: number; to: number; start: number; end: number; length?: number }[] = [
    { from: 0, to: one.length, start: 0, end: other.length },
  ];
  for (let part = parts.pop(); part; part = parts.pop()) {
    let { from, to, start, end } = part;
    if (part.length !== undefined) {
      add(from, start, part.length);
      continue;
    }
    const left = from;
    const right = start;
    while (from < to && start < end && one[from] === other[start]) {
      from++;
      start++;
    }
    add(left, right, from - left);
    let tail = 0;
    while (from < to && start < end && one[to - 1] === other[end - 1]) {
      to--;
      end--;
      tail++;
    }
    if (tail) parts.push({ from: to, to, start: end, end, length: tail });
    if (from === to || start === end) continue;
    const middle = findMiddle(one, other, from, to, start, end, most, forward, backward);
    parts.push({ from: middle.left, to, start: middle.right, end });
    parts.push({ from, to: middle.left, start, end: middle.right });
  }
  return matches;
}

/** A point on a shortest way through the part, or on the way that came furthest when the bound is reached. */
function findMiddle(
  one: Int32Array,
  other: Int32Array,
  from: number,
  to: number,
  start: number,
  end: number,
  most: number,
  forward: Int32Array,
  backward: Int32Array,
): { left: number; right: number } {
  const width = to - from;
  const height = end - start;
  const delta = width - height;
  const odd = (delta & 1) !== 0;
  const zero = most + 1;
  forward.fill(0);
  backward.fill(0);
  forward[zero + 1] = 0;
  backward[zero + 1] = 0;
  const limit = Math.min(most, Math.ceil((width + height) / 2));
  for (let cost = 0; cost <= limit; cost++) {
    for (let diagonal = -cost; diagonal <= cost; diagonal += 2) {
      let x = reach(forward, zero, diagonal, cost);
      let y = x - diagonal;
      if (x > width || y > height) {
        forward[zero + diagonal] = x;
        continue;
      }
      while (x < width && y < height && one[from + x] === other[start + y]) {
        x++;
        y++;
      }
      forward[zero + diagonal] = x;
      const opposite = delta - diagonal;
      if (odd && opposite >= -(cost - 1) && opposite <= cost - 1 && x + backward[zero + opposite]! >= width) {
        return { left: from + x, right: start + y };
      }
    }
    for (let diagonal = -cost; diagonal <= cost; diagonal += 2) {
      let x = reach(backward, zero, diagonal, cost);
      let y = x - diagonal;
      if (x > width || y > height) {
        backward[zero + diagonal] = x;
        continue;
      }
      while (x < width && y < height && one[to - 1 - x] === other[end - 1 - y]) {
        x++;
        y++;
      }
      backward[zero + diagonal] = x;
      const opposite = delta - diagonal;
      if (!odd && opposite >= -cost && opposite <= cost && x + forward[zero + opposite]! >= width) {
        return { left: to - x, right: end - y };
      }
    }
  }
  return furthest(forward, zero, limit, from, start, width, height);
}

function reach(column: Int32Array, zero: number, diagonal: number, cost: number): number {
  const down = column[zero + diagonal + 1]!;
  const across = column[zero + diagonal - 1]! + 1;
  if (diagonal === -cost) return down;
  if (diagonal === cost) return across;
  return Math.max(down, across);
}

function furthest(
  forward: Int32Array,
  zero: number,
  limit: number,
  from: number,
  start: number,
  width: number,
  height: number,
): { left: number; right: number } {
  let best = { x: 0, y: 0 };
  for (let diagonal = -limit; diagonal <= limit; diagonal += 2) {
    const x = forward[zero + diagonal]!;
    const y = x - diagonal;
    if (x <= width && y >= 0 && y <= height && x + y > best.x + best.y) best = { x, y };
  }
  return { left: from + best.x, right: start + best.y };
}
