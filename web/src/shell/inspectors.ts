/** The panels to the right of the text, loaded when they are first opened. One is open at a time. */
import type { Component } from "svelte";
import type { Panel } from "../router/routes";

type Load = () => Promise<{ default: Component }>;

export const INSPECTORS: Partial<Record<Panel, Load>> = {
  context: () => import("../context/ContextPanel.svelte"),
  collaborator: () => import("../collaborator/CollaboratorPanel.svelte"),
  provenance: () => import("../provenance/ProvenancePanel.svelte"),
  run: () => import("../run/RunPanel.svelte"),
  tokens: () => import("../tokens/TokensPanel.svelte"),
};
