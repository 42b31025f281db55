// A state under construction.

import { expect, test } from "vitest";

import { blankCall, Sketch, like } from "../../src/state/sketch";
import { EMPTY, type Row } from "../../src/state/state";
import { kinds } from "./telling";

const words = (key: string): Row => ({ kind: "text", key, text: key, live: false, redacted: false, uuid: "", source: "model", time: 1 });

test("unchanged rows are shared, changed ones are not", () => {
  const first = new Sketch(EMPTY);
  first.add(blankCall("a", "a", "Task", 1));
  first.add(words("b"));
  const before = first.done();
  const second = new Sketch(before);
  second.add(words("inside"), "a");
  const after = second.done();
  expect(after.rows[1]).toBe(before.rows[1]);
  expect(after.rows[0]).not.toBe(before.rows[0]);
  expect(before.rows[0]).toMatchObject({ rows: [] });
  expect(after.rows[0]).toMatchObject({ rows: [{ text: "inside" }] });
});

test("calls are found at any depth, also in a state built otherwise", () => {
  const first = new Sketch(EMPTY);
  first.add(blankCall("a", "a", "Task", 1));
  first.add(blankCall("b", "b", "Task", 1), "a");
  first.add(blankCall("c", "c", "Bash", 1), "b");
  const copy = { ...first.done() };
  const second = new Sketch(copy);
  second.call("c")!.status = "done";
  expect(second.done().rows).toMatchObject([{ id: "a", rows: [{ id: "b", rows: [{ id: "c", status: "done" }] }] }]);
  expect(new Sketch(copy).call("d")).toBeUndefined();
});

test("a sketch that was given up leaves nothing behind", () => {
  const before = new Sketch(EMPTY).done();
  new Sketch(before).add(blankCall("lost", "lost", "Bash", 1));
  expect(new Sketch(before).call("lost")).toBeUndefined();
});

test("names are unique at every depth", () => {
  const sketch = new Sketch(EMPTY);
  sketch.add(blankCall("x", "a", "Task", 1));
  sketch.add(words("x"));
  sketch.add(words("x"), "a");
  expect(sketch.state.rows.map((row) => row.key)).toEqual(["x", "x~2"]);
  expect(sketch.call("a")!.rows[0]!.key).toBe("x~3");
});

const named = (key: string) => (row: Row): row is Row => row.key === key;

test("rows are changed only among the newest", () => {
  const sketch = new Sketch(EMPTY);
  for (let count = 0; count < 5; count += 1) sketch.add(words(`w${count}`));
  expect(sketch.amend(named("w0"), () => words("changed"), 3)).toBe(false);
  expect(sketch.amend(named("w3"), () => words("changed"), 3)).toBe(true);
  expect(kinds(sketch.done().rows)).toEqual(["w0", "w1", "w2", "changed", "w4"]);
});

test("open calls are indexed", () => {
  const sketch = new Sketch(EMPTY);
  for (const id of ["a", "b"]) sketch.add(blankCall(id, id, "Bash", 1));
  sketch.add({ ...blankCall("c", "c", "Bash", 1), status: "done" });
  expect(sketch.state.open).toEqual(["a", "b"]);
  sketch.settled("a");
  sketch.leave(() => true);
  expect(sketch.done()).toMatchObject({ open: [], rows: [{ status: "running" }, { status: "interrupted" }, { status: "done" }] });
});

test("a state with other fields knows its calls as well, and so does the one that it was made of", () => {
  const first = new Sketch(EMPTY);
  first.add(blankCall("a", "a", "Bash", 1));
  const before = first.done();
  const after = like(before, { live: [words("w")] });
  for (const state of [after, before]) expect(new Sketch(state).call("a")).toMatchObject({ id: "a" });
  expect(after).toMatchObject({ rows: before.rows, live: [{ text: "w" }] });
});
