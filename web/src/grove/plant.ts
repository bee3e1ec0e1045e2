/** Plant a tree and go to it. */
import { api } from "../api/client";
import type { Tree } from "../api/values";
import { router } from "../router/router.svelte";
import { attempt, messages } from "../shell/messages.svelte";
import { grove } from "../state/grove.svelte";

const ANSWERS = 3;

function plant(body: { text: string; mode: "dialogue" | "buffer" }): Promise<Tree | undefined> {
  return attempt(() => api.post("/api/trees", { body, idempotencyKey: crypto.randomUUID() }));
}

function generate(tree: Tree): Promise<unknown> {
  return attempt(() =>
    api.call("POST", `/api/trees/${tree.id}/nodes/${tree.root}/generate`, { body: { n: ANSWERS }, idempotencyKey: crypto.randomUUID() }),
  );
}

/** A conversation: the question is its root, and three answers are compared as they come. */
export async function plantQuestion(text: string): Promise<void> {
  const tree = await plant({ text, mode: "dialogue" });
  if (!tree) return;
  await grove.openTree(tree.id, tree.root);
  const started = await generate(tree);
  if (!started) {
    router.go({ name: "reader", tree: tree.id, node: null });
    return;
  }
  messages.announce(`Writing ${ANSWERS} continuations.`);
  const node = grove.open?.here ?? tree.root;
  router.open(new URL(`/t/${tree.id}/${encodeURIComponent(node)}/compare?of=children`, location.origin), false);
}

/** A document: the sentence is its beginning, and one continuation is offered. */
export async function plantText(text: string): Promise<void> {
  const tree = await plant({ text, mode: "buffer" });
  if (!tree) return;
  await generate(tree);
  router.go({ name: "reader", tree: tree.id, node: null });
}

/** An empty conversation. */
export async function plantEmpty(mode: "dialogue" | "buffer"): Promise<void> {
  const tree = await plant({ text: "", mode });
  if (tree) router.go({ name: "reader", tree: tree.id, node: null });
}
