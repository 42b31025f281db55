// The tests in a real browser: a real server each, the scripted model, Chromium. `make browser` builds the page first.
// BROWSER_RUN selects a run that is not a test: screenshots, benchmarks, a session with the real CLI.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: [process.env["BROWSER_RUN"] ?? "browser/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    fileParallelism: true,
    maxWorkers: 3, // more than two cores: a test often waits for its server or agent
    isolate: false, // loading Playwright takes seconds per worker; each file still starts its own server and closes its browser
  },
});
