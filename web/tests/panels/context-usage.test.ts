// Usage of the context.

import { expect, test } from "vitest";

import { usageOf } from "../../src/views/panels/context-usage";

test("used, free and deferred parts of the window are separate", () => {
  const usage = usageOf({
    totalTokens: 150,
    maxTokens: 1000,
    categories: [
      { name: "System prompt", tokens: 100, kind: "used" },
      { name: "Messages", tokens: 50 },
      { name: "System tools (deferred)", tokens: 12, isDeferred: true },
      { name: "Free space", tokens: 850 },
      { name: "Nothing", tokens: 0 },
    ],
  });
  expect(usage).toMatchObject({ used: 150, total: 1000 });
  expect(usage.parts.map((one) => one.kind)).toEqual(["used", "used", "deferred", "free"]);
});

test("an answer of another kind is an empty one", () => {
  expect(usageOf({ categories: "none", totalTokens: "many" })).toEqual({ used: 0, total: 0, parts: [] });
});
