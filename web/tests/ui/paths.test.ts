import { expect, test } from "vitest";

import { baseName, shorten } from "../../src/ui/paths";

test("the last name of a path is told, whatever separates it", () => {
  expect(["/home/ann/project/", "C:\\work\\site", "project", "/"].map(baseName)).toEqual(["project", "site", "project", "/"]);
});

test("below the folder a path is told without it, elsewhere as a whole", () => {
  expect(["/work/a/b.ts", "/workshop/b.ts", "/work/../etc/passwd"].map((path) => shorten(path, "/work/"))).toEqual(["a/b.ts", "/workshop/b.ts", "/work/../etc/passwd"]);
});
