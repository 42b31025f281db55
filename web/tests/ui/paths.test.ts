import { expect, test } from "vitest";

import { baseName, shorten } from "../../src/ui/paths";

test("the last name of a path is found with any separator", () => {
  expect(["/home/ann/project/", "C:\\work\\site", "project", "/"].map(baseName)).toEqual(["project", "site", "project", "/"]);
});

test("a path below the folder is relative, other paths are absolute", () => {
  expect(["/work/a/b.ts", "/workshop/b.ts", "/work/../etc/passwd"].map((path) => shorten(path, "/work/"))).toEqual(["a/b.ts", "/workshop/b.ts", "/work/../etc/passwd"]);
});
