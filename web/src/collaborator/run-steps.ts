/** The steps of a run as lines of its log: turns, commands with their results, tools, notices. */

export interface Step {
  step: number;
  turn: number;
  kind: string;
  body: Record<string, unknown>;
}

export type StepLine =
  | { kind: "turn"; turn: number }
  | { kind: "command"; text: string }
  | { kind: "result"; ok: boolean; text: string; nodes: string[]; code: string }
  | { kind: "tool"; name: string; status: string }
  | { kind: "node"; id: string }
  | { kind: "notice"; text: string };

const text = (value: unknown): string => (typeof value === "string" ? value : "");

export function stepLines(steps: readonly Step[]): StepLine[] {
  const lines: StepLine[] = [];
  for (const { kind, turn, body } of steps) {
    switch (kind) {
      case "turn":
        lines.push({ kind: "turn", turn });
        break;
      case "command":
        lines.push({ kind: "command", text: text(body["text"]) });
        break;
      case "result":
        lines.push({ kind: "result", ok: body["ok"] !== false, text: text(body["shown"]) || text(body["text"]), nodes: Array.isArray(body["nodes"]) ? body["nodes"].filter((each) => typeof each === "string") : [], code: text(body["code"]) });
        break;
      case "tool":
        lines.push({ kind: "tool", name: toolName(body["call"]), status: "running" });
        break;
      case "toolEnded": {
        const name = toolName(body["call"]);
        const open = lines.findLast((line) => line.kind === "tool" && line.name === name && line.status === "running");
        if (open?.kind === "tool") open.status = text(body["status"]) || "complete";
        break;
      }
      case "node":
        lines.push({ kind: "node", id: text(body["node"]) });
        break;
      case "notice":
        lines.push({ kind: "notice", text: text(body["message"]) });
        break;
      case "retrying":
        lines.push({ kind: "notice", text: `Trying again in ${String(body["seconds"])} s: ${text(body["error"])}` });
        break;
    }
  }
  return lines;
}

function toolName(call: unknown): string {
  if (typeof call === "object" && call !== null) return text((call as { name?: unknown }).name);
  return text(call);
}
