import { expect, test } from "vitest";

import { hasWords, inOrder, lines, standing } from "../../src/views/sessions/session-order";
import { session } from "./sample";

const shown = (wanted: Partial<Parameters<typeof lines>[0]>) => lines({ sessions: [], terminal: [], words: "", archived: false, ...wanted }).map((one) => (one.kind === "heading" ? `# ${one.group} ${one.count}` : one.session.id));

test("sessions that need the user come first, then working, failed and other ones", () => {
  const sessions = [session({ id: "idle" }), session({ id: "failed", state: "failed" }), session({ id: "works", state: "running" }), session({ id: "asks", state: "waiting_approval", questions: 1 })];
  expect(shown({ sessions })).toEqual(["# needs 1", "asks", "# working 1", "works", "# failed 1", "failed", "# idle 1", "idle"]);
});

test("idle sessions are sorted by when they changed, working ones keep their place", () => {
  const sessions = [
    session({ id: "old", changed: 1 }),
    session({ id: "new", changed: 2 }),
    session({ id: "older work", state: "running", created: 1, changed: 99 }),
    session({ id: "newer work", state: "running", created: 2, changed: 3 }),
  ];
  expect(shown({ sessions })).toEqual(["# working 2", "newer work", "older work", "# idle 2", "new", "old"]);
});

test("a session with an open question needs the user in any state", () => {
  expect(standing(session({ id: "a", state: "running", questions: 2 }))).toBe("needs");
  expect(standing(session({ id: "a", state: "hibernated", questions: 1 }))).toBe("needs");
  expect(standing(session({ id: "a", state: "compacting" }))).toBe("working");
  expect(standing(session({ id: "a", state: "hibernated" }))).toBe("idle");
});

test("a session of a lost machine needs the user", () => {
  const sessions = [session({ id: "works", state: "running" }), session({ id: "gone", state: "interrupted" })];
  expect(shown({ sessions })).toEqual(["# needs 1", "gone", "# working 1", "works"]);
});

test("the filter finds a machine by its name", () => {
  const sessions = [session({ id: "a", runner: "worker-1" }), session({ id: "b", runner: "worker-2" }), session({ id: "c" })];
  expect(shown({ sessions, words: "worker-2" })).toEqual(["# idle 1", "b"]);
});

test("archived sessions are shown only where they are wanted", () => {
  const sessions = [session({ id: "here" }), session({ id: "away", archived: true, questions: 1 })];
  expect(shown({ sessions })).toEqual(["# idle 1", "here"]);
  expect(shown({ sessions, archived: true })).toEqual(["# idle 1", "here", "# archived 1", "away"]);
});

test("a session of the terminal that is ours already is not shown twice", () => {
  const terminal = [
    { id: "taken", cwd: "/a", title: "Taken", changed: 5 },
    { id: "free", cwd: "/b", title: "Free", changed: 4 },
  ];
  expect(shown({ sessions: [session({ id: "x", conversation: "taken" })], terminal })).toEqual(["# idle 1", "x", "# terminal 1", "free"]);
});

test("the filter looks at title and folder, for all words in any order", () => {
  const sessions = [session({ id: "a", title: "Fix the Login", cwd: "/srv/shop" }), session({ id: "b", title: "Other" })];
  expect(shown({ sessions, words: "shop login" })).toEqual(["# idle 1", "a"]);
  expect(shown({ sessions, words: "shop nothing" })).toEqual([]);
  expect(hasWords("", "anything")).toBe(true);
});

test("ten thousand sessions are put in order at once", () => {
  const sessions = Array.from({ length: 10_000 }, (_, at) => session({ id: String(at), changed: at % 977 }));
  expect(shown({ sessions })).toHaveLength(10_001);
});

test("keys walk through sessions in the order of the list, without those that are put away", () => {
  const sessions = [session({ id: "old", changed: 1 }), session({ id: "new", changed: 2 }), session({ id: "away", archived: true }), session({ id: "asks", questions: 1 })];
  expect(inOrder(sessions).map((one) => one.id)).toEqual(["asks", "new", "old"]);
});
