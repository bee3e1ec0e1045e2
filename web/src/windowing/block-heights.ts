/** Heights of blocks, estimated until measured, with sums in logarithmic time (a Fenwick tree). */

export class BlockHeights {
  private readonly heights: Float64Array;
  private readonly sums: Float64Array;
  private readonly known: Uint8Array;

  constructor(
    readonly count: number,
    estimate: number | ((index: number) => number),
  ) {
    this.heights = Float64Array.from({ length: count }, (_, at) =>
      typeof estimate === "number" ? estimate : estimate(at),
    );
    this.known = new Uint8Array(count);
    this.sums = new Float64Array(count + 1);
    for (let at = 1; at <= count; at++) {
      this.sums[at]! += this.heights[at - 1]!;
      const next = at + (at & -at);
      if (next <= count) this.sums[next]! += this.sums[at]!;
    }
  }

  height(index: number): number {
    return this.heights[index]!;
  }

  isMeasured(index: number): boolean {
    return this.known[index] === 1;
  }

  /** The distance from the top of the first block to the top of this one. */
  top(index: number): number {
    let sum = 0;
    for (let at = index; at > 0; at -= at & -at) sum += this.sums[at]!;
    return sum;
  }

  get total(): number {
    return this.top(this.count);
  }

  /** Record a measured height; returns by how much it differs from the one before. */
  measure(index: number, height: number): number {
    const change = height - this.heights[index]!;
    this.known[index] = 1;
    if (change === 0) return 0;
    this.heights[index] = height;
    for (let at = index + 1; at <= this.count; at += at & -at) this.sums[at]! += change;
    return change;
  }

  /** The block at a distance from the top; the last one beyond the end. */
  at(offset: number): number {
    let index = 0;
    let rest = offset;
    for (let step = 1 << Math.floor(Math.log2(Math.max(1, this.count))); step > 0; step >>= 1) {
      if (index + step <= this.count && this.sums[index + step]! <= rest) {
        index += step;
        rest -= this.sums[index]!;
      }
    }
    return Math.max(0, Math.min(index, this.count - 1));
  }
}
