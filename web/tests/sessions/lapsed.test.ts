import { expect, test } from "vitest";

import { lapsedWords } from "../../src/views/sessions/lapsed";

test("everything that lapsed is told, each kind in its words", () => {
  const updates = [
    { type: "addRules", behavior: "allow", rules: [{ toolName: "Bash", ruleContent: "npm run:*" }, { toolName: "WebFetch" }] },
    { type: "addRules", behavior: "deny", rules: [{ toolName: "Read", ruleContent: "./secret" }] },
    { type: "addDirectories", directories: ["/srv/data"] },
  ];
  expect(lapsedWords(updates)).toBe("Bash(npm run:*), every WebFetch, the ban on Read(./secret), work in /srv/data");
});

test("what is not understood does not hide the rest", () => {
  expect(lapsedWords([{ rules: "no list" }, { directories: ["/a"] }])).toBe("work in /a");
});
