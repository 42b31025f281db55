import { expect, test } from "vitest";

import { lineCount } from "../../src/ui/line-count";

test.each([["", 0], ["a", 1], ["a\n", 1], ["a\nb", 2], ["a\nb\n", 2], ["\n", 1], ["a\n\n", 2]])("%j has %i lines", (text, count) => {
  expect(lineCount(text)).toBe(count);
});
