// What may have been done is asked again under its own id; what is meant anew is not.

import { expect, test } from "vitest";

import { Unsure } from "../../src/state/unsure";

const hello = { session: "s", text: "hello" };

test("the same message goes under the same id until it is known what became of it", () => {
  const unsure = new Unsure();
  const id = unsure.id("send", hello);
  unsure.keep(id, "send", hello);
  expect(unsure.id("send", { ...hello })).toBe(id);
  expect(unsure.id("send", { ...hello, text: "hello!" })).not.toBe(id);
  unsure.settle("send", hello);
  expect(unsure.id("send", hello)).not.toBe(id);
});

test("minutes later the same words are meant anew", () => {
  const unsure = new Unsure();
  unsure.keep("first", "send", hello, 1000);
  expect(unsure.id("send", hello, 180_999)).toBe("first");
  expect(unsure.id("send", hello, 181_000)).not.toBe("first");
});

test("whoever presses Stop again wants it stopped now", () => {
  const unsure = new Unsure();
  unsure.keep("first", "interrupt", { session: "s" });
  expect(unsure.id("interrupt", { session: "s" })).not.toBe("first");
});
