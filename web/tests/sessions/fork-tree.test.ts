import { expect, test } from "vitest";

import type { SessionShown } from "../../src/protocol/messages";
import { forkTree } from "../../src/views/sessions/fork-tree";
import { session } from "./sample";

const known = (...all: [id: string, from: string, at?: string][]) =>
  new Map<string, SessionShown>(all.map(([id, from, at = ""], created) => [id, { ...session({ id, created }), forked_from: from, forked_at: at } as SessionShown]));
const drawn = (sessions: Map<string, SessionShown>, id: string) => forkTree(sessions, id).map((one) => `${"-".repeat(one.depth)}${one.id}${one.session ? "" : "?"}`);

test("a session without forks stands alone", () => {
  expect(drawn(known(["a", ""], ["b", ""]), "a")).toEqual(["a"]);
});

test("the whole tree is shown from any of its sessions", () => {
  const sessions = known(["a", ""], ["b", "a", "m1"], ["c", "b"], ["d", "a"]);
  for (const id of ["a", "b", "c", "d"]) expect(drawn(sessions, id)).toEqual(["a", "-b", "--c", "-d"]);
  expect(forkTree(sessions, "c")[1]?.at).toBe("m1");
});

test("a session that was deleted still holds its branches together", () => {
  expect(drawn(known(["b", "gone"], ["c", "gone"]), "c")).toEqual(["gone?", "-b", "-c"]);
});

test("a call that is its own ancestor does not hang the page", () => {
  expect(drawn(known(["a", "b"], ["b", "a"]), "a")).toEqual(expect.arrayContaining(["a", "-b"].map((one) => expect.stringContaining(one.replace("-", "")))));
});
