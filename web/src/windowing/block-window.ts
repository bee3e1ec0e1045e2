/** Which blocks of a long text are in the page: those within two screens of what is seen, anchored on one block. */

import { BlockHeights } from "./block-heights";

export interface BlockRange {
  /** The first block in the page. */
  first: number;
  /** The one after the last. */
  end: number;
  /** The height of what is left out above and below. */
  above: number;
  below: number;
}

export interface Anchor {
  index: number;
  /** The distance of its top from the top of the screen; negative when it begins above. */
  offset: number;
}

export interface WindowOptions {
  estimate?: number | ((index: number) => number);
  /** Screens above and below that are in the page too. */
  screens?: number;
}

/**
 * The window over a number of blocks.
 *
 * Heights above the anchor change as blocks are measured; `scrollTop` is then derived from the anchor, so what the
 * reader looks at does not move.
 */
export class BlockWindow {
  private heights: BlockHeights;
  private anchored: Anchor = { index: 0, offset: 0 };
  private readonly estimate: number | ((index: number) => number);
  private readonly screens: number;

  constructor(
    count: number,
    private screenHeight: number,
    options: WindowOptions = {},
  ) {
    this.estimate = options.estimate ?? 120;
    this.screens = options.screens ?? 2;
    this.heights = new BlockHeights(count, this.estimate);
  }

  get count(): number {
    return this.heights.count;
  }

  get anchor(): Anchor {
    return this.anchored;
  }

  /** Where the page has to be scrolled so that the anchor stays where it is. */
  get scrollTop(): number {
    const most = Math.max(0, this.heights.total - this.screenHeight);
    return Math.min(most, Math.max(0, this.heights.top(this.anchored.index) - this.anchored.offset));
  }

  get total(): number {
    return this.heights.total;
  }

  top(index: number): number {
    return this.heights.top(index);
  }

  resize(screenHeight: number): void {
    this.screenHeight = screenHeight;
  }

  /** The reader scrolled: the anchor is the focused block while it is on screen, else the topmost one. */
  scrolled(scrollTop: number, focused?: number): void {
    const isSeen =
      focused !== undefined &&
      focused < this.count &&
      this.heights.top(focused) < scrollTop + this.screenHeight &&
      this.heights.top(focused) + this.heights.height(focused) > scrollTop;
    const index = isSeen ? focused : this.heights.at(scrollTop);
    this.anchored = { index, offset: this.heights.top(index) - scrollTop };
  }

  /** Go to a block: its top at `offset` from the top of the screen. */
  reveal(index: number, offset = 0): void {
    this.anchored = { index: Math.max(0, Math.min(index, this.count - 1)), offset };
  }

  /** True when the height differs from the one assumed, so that the page has to be placed again. */
  measure(index: number, height: number): boolean {
    return Math.abs(this.heights.measure(index, height)) > 0.5;
  }

  /** Change the number of blocks; the first `kept` keep their heights. The anchor stays where it is. */
  replace(count: number, kept: number): void {
    const before = this.heights;
    this.heights = new BlockHeights(count, this.estimate);
    for (let at = 0; at < Math.min(kept, count, before.count); at++) {
      if (before.isMeasured(at)) this.heights.measure(at, before.height(at));
    }
    if (this.anchored.index >= count) this.anchored = { index: Math.max(0, count - 1), offset: this.anchored.offset };
  }

  get range(): BlockRange {
    if (this.count === 0) return { first: 0, end: 0, above: 0, below: 0 };
    const margin = this.screens * this.screenHeight;
    const top = this.scrollTop;
    const first = this.heights.at(Math.max(0, top - margin));
    const end = this.heights.at(top + this.screenHeight + margin) + 1;
    return { first, end, above: this.heights.top(first), below: this.heights.total - this.heights.top(end) };
  }
}
