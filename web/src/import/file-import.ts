/** Bring a file: it is sent as it is, and the server imports it while the page goes on. */
import { api } from "../api/client";
import { router } from "../router/router.svelte";
import { attempt } from "../shell/messages.svelte";

export async function importFile(file: File): Promise<void> {
  const started = await attempt(async () => {
    const url = `/api/imports?name=${encodeURIComponent(file.name)}`;
    const answer = await api.fetch(url, {
      method: "POST",
      body: file,
      credentials: "same-origin",
      headers: { "Content-Type": "application/octet-stream" },
    });
    return (await answer.json()) as { id: string };
  });
  if (started) router.go({ name: "import", job: started.id });
}

/** Ask for a file with the browser's own dialog. */
export function chooseFile(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    if (file) void importFile(file);
  });
  input.click();
}

/** The first file that was dropped, if any. */
export function droppedFile(event: DragEvent): File | undefined {
  return event.dataTransfer?.files[0];
}
