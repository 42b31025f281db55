// A command that may have been executed is repeated with its id; a new one gets a new id.

import { expect, test } from "vitest";

import { Unsure } from "../../src/state/unsure";

const hello = { session: "s", text: "hello" };

test("a message keeps its id until its outcome is known", () => {
  const unsure = new Unsure();
  const id = unsure.id("send", hello);
  unsure.keep(id, "send", hello);
  expect(unsure.id("send", { ...hello })).toBe(id);
  expect(unsure.id("send", { ...hello, text: "hello!" })).not.toBe(id);
  unsure.settle("send", hello);
  expect(unsure.id("send", hello)).not.toBe(id);
});

test("minutes later the same text is a new command", () => {
  const unsure = new Unsure();
  unsure.keep("first", "send", hello, 1000);
  expect(unsure.id("send", hello, 180_999)).toBe("first");
  expect(unsure.id("send", hello, 181_000)).not.toBe("first");
});

test("pressing Stop again is a new command", () => {
  const unsure = new Unsure();
  unsure.keep("first", "interrupt", { session: "s" });
  expect(unsure.id("interrupt", { session: "s" })).not.toBe("first");
});
