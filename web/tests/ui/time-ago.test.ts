import { expect, test } from "vitest";

import { strings } from "../../src/strings";

test("a time ago uses the largest unit that fits", () => {
  const minute = 60_000;
  expect([0, 59_000, minute, 59 * minute, 60 * minute, 23 * 60 * minute, 24 * 60 * minute, 45 * 24 * 60 * minute, 800 * 24 * 60 * minute].map(strings.sessions.ago)).toEqual(["now", "now", "1 min", "59 min", "1 h", "23 h", "1 d", "1 mo", "2 y"]);
});
