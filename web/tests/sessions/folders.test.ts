import { expect, test } from "vitest";

import { likeliestFolder, parentIn, recentFolders } from "../../src/views/sessions/folders";
import { session } from "./sample";

test("recent folders are listed once each, newest first", () => {
  expect(recentFolders([session({ id: "a", cwd: "/a", changed: 1 }), session({ id: "b", cwd: "/b", changed: 3 }), session({ id: "c", cwd: "/a", changed: 2 })])).toEqual(["/b", "/a"]);
});

test("the likeliest folder is that of the open session, then the last used one, then the first root", () => {
  const sessions = new Map([session({ id: "a", cwd: "/a", changed: 1 }), session({ id: "b", cwd: "/b", changed: 3 })].map((one) => [one.id, one]));
  expect(likeliestFolder(sessions, "a", ["/root"])).toBe("/a");
  expect(likeliestFolder(sessions, "", ["/root"])).toBe("/b");
  expect(likeliestFolder(new Map(), "", ["/root"])).toBe("/root");
});

test("browsing up ends at the root", () => {
  expect(parentIn("/home/ann/project/src", ["/home/ann"])).toBe("/home/ann/project");
  expect(parentIn("/home/ann/project/", ["/home/ann"])).toBe("/home/ann");
  expect(parentIn("/home/ann", ["/home/ann"])).toBe("");
  expect(parentIn("/home/anna/x", ["/home/ann"])).toBe("");
});
