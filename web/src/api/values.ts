/** The values of the wire by name, from the generated types. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Agent = Schemas["Agent"];
export type AuthorSpan = Schemas["AuthorSpan"];
export type CollapsedRange = Schemas["CollapsedRange"];
export type Content = Schemas["Content"];
export type Cursor = Schemas["Cursor"];
export type Difference = Schemas["Difference"];
export type Document = Schemas["Document"];
export type Event = Schemas["Event"];
export type HistoryEntry = Schemas["HistoryEntry"];
export type HistoryStep = Schemas["HistoryStep"];
export type Hit = Schemas["Hit"];
export type Item = Schemas["Item"];
export type Metadata = Schemas["Metadata"];
export type Node = Schemas["Node"];
export type Project = Schemas["Project"];
export type Provenance = Schemas["Provenance"];
export type Skeleton = Schemas["Skeleton"];
export type Tree = Schemas["Tree"];
export type User = Schemas["User"];
export type Vault = Schemas["Vault"];

/** The words of a node: its text blocks, without thinking, tools or media. */
export function textOf(content: Content): string {
  if (content.type === "text") return content.text ?? "";
  return (content.blocks ?? []).map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
}

/** The first words of a text, for a row or a map. */
export function firstWords(text: string, length = 80): string {
  const flat = text.slice(0, length * 4).replace(/[\s#*_>`]+/g, " ").trim();
  return flat.length > length ? `${flat.slice(0, length - 1).trimEnd()}…` : flat;
}
