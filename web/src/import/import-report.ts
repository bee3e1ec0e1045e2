/** The report of an import, as the server writes it, and in words. */

export interface ImportedTree {
  title: string;
  tree: string;
  nodes: number;
  newNodes: number;
  branches: number;
  models: string[];
}

export interface RefusedConversation {
  title: string | null;
  error: string;
  file: string | null;
  number: number | null;
  line: number | null;
  place: string | null;
}

/** Where in the file it is: file, conversation, line. */
export function refusedPlace({ file, number, line, place }: RefusedConversation): string {
  return [file, number === null ? "" : `conversation ${number}`, line === null ? "" : `line ${line}`, place].filter(Boolean).join(", ");
}

export interface ImportReport {
  id: string;
  name: string;
  bytes: number;
  status: string;
  done: number;
  total: number;
  error: unknown;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  imported: number;
  refused: number;
  nodes: number;
  newNodes: number;
  newTrees: number;
  changedTrees: number;
  unchangedTrees: number;
  keysFound: number;
  labels?: string[];
  kept: { what: string; count: number; as: string }[];
  lost: { what: string; count: number; reason: string }[];
  keys: { place?: string }[];
  refusedConversations: RefusedConversation[];
  latest: ImportedTree[];
  largest: ImportedTree[];
}

export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 1 : 0)} MB`;
}

/** “ · about 35 s left”, once a tenth is done. */
export function timeLeft(report: Pick<ImportReport, "done" | "total" | "startedAt">, now = Date.now()): string {
  if (report.startedAt === null || report.done === 0 || report.done / report.total < 0.1) return "";
  const seconds = ((now - Date.parse(report.startedAt)) / 1_000) * (report.total / report.done - 1);
  return ` · about ${seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`} left`;
}

export function reportText(report: ImportReport): string {
  return [
    `${report.name}: ${report.imported} of ${report.imported + report.refused} conversations imported`,
    ...report.kept.map((row) => `kept: ${row.what}, ${row.count}, as ${row.as}`),
    ...report.lost.map((row) => `not kept: ${row.what}, ${row.count}, ${row.reason}`),
    ...report.refusedConversations.map((row) => `refused: ${row.title ?? "Untitled"}, ${row.error}`),
  ].join("\n");
}

const UNDER_WAY: readonly string[] = ["waiting", "reading", "writing", "stopping"];

/** Whether the server still works on it. */
export function isUnderWay({ status }: Pick<ImportReport, "status">): boolean {
  return UNDER_WAY.includes(status);
}
