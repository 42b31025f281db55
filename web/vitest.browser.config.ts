// The tests in a real browser: a real server each, the scripted model, Chromium. `make browser` builds the page first.
// BROWSER_RUN names one of the runs that are no tests: screenshots, benchmarks, a session with the real CLI.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: [process.env["BROWSER_RUN"] ?? "browser/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    fileParallelism: true,
    maxWorkers: 2,
    isolate: false, // loading Playwright takes seconds per worker; each file starts its own server and closes its browser all the same
  },
});
