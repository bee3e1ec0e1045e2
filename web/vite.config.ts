import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/weft/server/static",
    emptyOutDir: true,
    // Nothing is inlined as data: addresses, which the content security policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
  },
  worker: { format: "es" },
  server: { proxy: { "/api": "http://127.0.0.1:7370", "/enter": "http://127.0.0.1:7370" } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
