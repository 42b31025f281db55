import { expect, test } from "vitest";

import { lapsedWords } from "../../src/views/sessions/lapsed";

test("everything that lapsed is told, each kind in its words", () => {
  const updates = [
    { type: "addRules", behavior: "allow", rules: [{ toolName: "Bash", ruleContent: "npm run:*" }, { toolName: "WebFetch" }] },
    { type: "addRules", behavior: "deny", rules: [{ toolName: "Read", ruleContent: "./secret" }] },
    { type: "addDirectories", directories: ["/srv/data"] },
  ];
  expect(lapsedWords(updates)).toBe("Bash(npm run:*), all WebFetch calls, deny rule Read(./secret), access to /srv/data");
});

test("what is not understood does not hide the rest", () => {
  expect(lapsedWords([{ rules: "no list" }, { directories: ["/a"] }])).toBe("access to /a");
});
