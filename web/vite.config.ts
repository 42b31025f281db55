// Builds the page into the folder that the bridge serves and the wheel contains; also runs the unit tests.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  // What is built must not hold anything that a strict content policy refuses: no inline script, no data: address of a script.
  build: { outDir: "../src/handrail/bridge/page", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  test: { environment: "happy-dom", testTimeout: 30_000, include: ["tests/**/*.test.ts", "tests/**/*.test.tsx"] },
});
