// Builds the page into the folder that the bridge serves and the wheel contains; also runs the unit tests.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  base: "./", // relative, so that the page works under any path of a proxy
  // A strict content security policy forbids inline scripts and data: URLs, so the build must not contain any.
  build: { outDir: "../src/handrail/bridge/page", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  test: { environment: "happy-dom", testTimeout: 30_000, include: ["tests/**/*.test.ts", "tests/**/*.test.tsx"] },
});
