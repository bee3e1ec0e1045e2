/** The map of one tree: its layout, what part is seen, what is folded, filtered and labelled. */

import { firstWords, textOf } from "../api/values";
import type { DrawnTree } from "../layout/drawn-tree";
import { layouts } from "../layout/layouts";
import { childCount, pathTo } from "../layout/shape";
import { Tiles } from "../layout/tiles";
import { grove } from "../state/grove.svelte";
import type { TreeState } from "../state/tree.svelte";
import { Flag } from "../state/tree-shape";
import { composeScene, type LabelSource, type Scene } from "./scene";
import { fitAll, type Size, toScreen, type Viewport } from "./viewport";

export type Colouring = "author" | "age" | "kept";

const MOST_LABELS = 80;

export class MapState {
  drawn: DrawnTree | null = $state.raw(null);
  tiles: Tiles | null = $state.raw(null);
  problem = $state("");
  view: Viewport = $state.raw({ x: 0, y: 0, zoom: 0.38 });
  width = $state(0);
  height = $state(0);
  colouring: Colouring = $state("author");
  /** Agents whose nodes are shown alone; none means all. */
  authors: ReadonlySet<string> = $state.raw(new Set<string>());
  closed: readonly number[] = $state.raw([]);
  opened: readonly number[] = $state.raw([]);
  /** The size of the drawing, in pixels. */
  readonly size: Size = $derived({ width: this.width, height: this.height });
  /** The number of nodes when the layout was made: what came later is ringed. */
  private laidOut = $state(0);
  /** Nodes known to be in the next request. */
  kept: ReadonlySet<string> = $state.raw(new Set<string>());
  private placed = false;

  constructor(
    readonly tree: TreeState,
    readonly hoist: () => string | null,
  ) {}

  get here(): number {
    return this.tree.shape.row(this.tree.here) - 1;
  }

  /** The index to begin at; the root, unless a node is hoisted. */
  get top(): number {
    const hoisted = this.hoist();
    return hoisted ? Math.max(0, this.tree.shape.row(hoisted) - 1) : 0;
  }

  /** Nodes that arrived since the layout was made. */
  get arrived(): number {
    return this.drawn ? this.tree.shape.size - this.laidOut : 0;
  }

  readonly path: ReadonlySet<number> = $derived.by(() => {
    if (!this.drawn || !this.drawn.shape.present[this.here]) return new Set<number>();
    return new Set(pathTo(this.drawn.shape, this.here));
  });

  readonly scene: Scene | null = $derived.by(() => {
    if (!this.drawn || !this.tiles || this.size.width === 0) return null;
    return composeScene(this.drawn, this.tiles, this.view, this.size, this.path, this.labels);
  });

  /** What may be labelled: the node here, bookmarks, branch points of the path, then any branch point. */
  private readonly labels: ReadonlyMap<number, LabelSource> = $derived.by(() => {
    const found = new Map<number, LabelSource>();
    if (!this.drawn) return found;
    const { shape } = this.drawn;
    const add = (index: number, rank: LabelSource["rank"]): void => {
      if (found.size >= MOST_LABELS || found.has(index) || !shape.present[index]) return;
      const node = this.tree.node(index + 1);
      if (!node) return;
      const text = (rank === "bookmark" && node.metadata.bookmarkLabel) || firstWords(textOf(node.content), 28);
      found.set(index, { text, rank });
    };
    const { flags } = this.tree.shape.skeleton;
    for (let index = 0; index < flags.length; index++) if (flags[index]! & Flag.bookmarked) add(index, "bookmark");
    add(this.here, "here");
    for (const index of this.path) if (childCount(shape, index) > 1) add(index, "branch point");
    for (const index of this.branchPoints) add(index, "branch point");
    return found;
  });

  /** The branch points with the most below them, first. */
  readonly branchPoints: readonly number[] = $derived.by(() => {
    if (!this.drawn) return [];
    const { shape } = this.drawn;
    const points: number[] = [];
    for (let index = 0; index < shape.present.length; index++) {
      if (shape.present[index] && childCount(shape, index) > 1) points.push(index);
    }
    return points.sort((one, other) => shape.sizes[other]! - shape.sizes[one]!).slice(0, MOST_LABELS);
  });

  /** Lay the tree out; what is on screen stays where it is, if the node here was drawn before. */
  async layOut(): Promise<void> {
    const { skeleton, size } = this.tree.shape;
    const keep: number[] = [this.here];
    for (let index = 0; index < size; index++) if (skeleton.flags[index]! & Flag.bookmarked) keep.push(index);
    const fold = { least: 12, keep, closed: [...this.closed], opened: [...this.opened] };
    try {
      const drawn = await layouts.draw(this.tree.id, skeleton, { shape: { hoist: this.top }, fold });
      const before = this.placeOf(this.here);
      this.drawn = drawn;
      this.tiles = new Tiles(drawn.marks, drawn.layout);
      this.laidOut = size;
      this.problem = "";
      const after = this.placeOf(this.here);
      if (!this.placed) this.showAll();
      else if (before && after) this.view = { ...this.view, x: this.view.x + after.x - before.x, y: this.view.y + after.y - before.y };
      void this.tree.load([this.here, ...this.branchPoints, ...keep].slice(0, MOST_LABELS).map((index) => index + 1)).catch(() => undefined);
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  placeOf(index: number): { x: number; y: number } | null {
    const mark = this.drawn?.marks.markOf[index] ?? -1;
    if (!this.drawn || mark < 0) return null;
    return { x: this.drawn.layout.x[mark]!, y: this.drawn.layout.y[mark]! };
  }

  showAll(): void {
    if (!this.drawn || this.size.width === 0) return;
    this.placed = true;
    this.view = fitAll(this.drawn.layout.width, this.drawn.layout.height, this.size);
    // A tree too large to be read as a whole opens where the reader is.
    if (this.view.zoom < 0.12) this.centre(0.38);
  }

  centre(zoom = this.view.zoom): void {
    const place = this.placeOf(this.here);
    if (place) this.view = { ...place, zoom };
  }

  /** Move as little as is needed to have the node here in view: the reader moved, so the map may. */
  follow(margin = 60): void {
    const place = this.placeOf(this.here);
    if (!place) return;
    const [x, y] = toScreen(this.view, this.size, place.x, place.y);
    const inside = x > margin && y > margin && x < this.size.width - margin && y < this.size.height - margin;
    if (!inside) this.centre();
  }

  toggleAuthor(agent: string): void {
    const next = new Set(this.authors);
    if (!next.delete(agent)) next.add(agent);
    this.authors = next;
  }

  toggleFold(index: number): void {
    const mark = this.drawn?.marks.markOf[index] ?? -1;
    if (!this.drawn || mark < 0) return;
    const first = this.drawn.marks.first[mark]!;
    if (this.drawn.marks.nodes[mark]! > 1) this.opened = [...this.opened, first];
    else if (this.closed.includes(index)) this.closed = this.closed.filter((each) => each !== index);
    else if (childCount(this.drawn.shape, index) > 0) this.closed = [...this.closed, index];
    void this.layOut();
  }

  /** How a node is drawn. */
  look(index: number): { dye: string; square: boolean; dimmed: boolean; isNew: boolean; age: number } {
    const shown = this.drawn?.shape.latest[index] ?? index;
    const agent = this.tree.shape.author(shown + 1);
    const dimmed =
      (this.authors.size > 0 && !this.authors.has(agent)) ||
      (this.colouring === "kept" && this.kept.size > 0 && !this.kept.has(this.tree.shape.id(shown + 1)));
    return {
      dye: grove.dye(agent),
      square: grove.isHuman(agent),
      dimmed,
      isNew: this.tree.unread.has(this.tree.shape.id(shown + 1)),
      age: (index + 1) / this.tree.shape.size,
    };
  }
}
