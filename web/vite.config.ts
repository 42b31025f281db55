// Builds the page into the folder that the bridge serves and the wheel contains; also runs the unit tests.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  base: "./", // relative, so that the page works under any path of a proxy
  // A strict content security policy forbids inline scripts and data: URLs, so the build must not contain any.
  build: { outDir: "../src/handrail/bridge/page", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  test: {
    environment: "happy-dom",
    testTimeout: 30_000,
    pool: "threads",
    projects: [
      // One window and one set of loaded modules per thread: starting them for each file took most of the time.
      { extends: true, test: { name: "logic", include: ["tests/**/*.test.ts"], setupFiles: ["tests/setup.ts"], isolate: false } },
      { extends: true, test: { name: "components", include: ["tests/**/*.test.tsx"] } },
    ],
  },
});
