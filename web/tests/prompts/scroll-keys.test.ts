// Keys of a prompt scroll its request.

import { expect, test } from "vitest";

import { scrollBy } from "../../src/views/prompts/scroll-keys";

function tall(): HTMLElement {
  const box = document.createElement("div");
  Object.defineProperties(box, { clientHeight: { value: 200 }, scrollHeight: { value: 1000 } });
  return box;
}

test.each([
  ["ArrowDown", 40],
  ["PageDown", 160],
  [" ", 160],
  ["End", 1000],
])("%s goes down", (key, by) => {
  const box = tall();
  expect(scrollBy(key, box)).toBe(true);
  expect(box.scrollTop).toBe(by);
});

test("other keys, and prompts without such a box, are left alone", () => {
  expect(scrollBy("y", tall())).toBe(false);
  expect(scrollBy("toString", tall())).toBe(false);
  expect(scrollBy("End", null)).toBe(false);
});
