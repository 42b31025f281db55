import { expect, test } from "vitest";

import { lapsedWords } from "../../src/views/sessions/lapsed";

test("every kind of expired grant has its text", () => {
  const updates = [
    { type: "addRules", behavior: "allow", rules: [{ toolName: "Bash", ruleContent: "npm run:*" }, { toolName: "WebFetch" }] },
    { type: "addRules", behavior: "deny", rules: [{ toolName: "Read", ruleContent: "./secret" }] },
    { type: "addDirectories", directories: ["/srv/data"] },
  ];
  expect(lapsedWords(updates)).toBe("Bash(npm run:*), all WebFetch calls, deny rule Read(./secret), access to /srv/data");
});

test("an unknown part does not hide the rest", () => {
  expect(lapsedWords([{ rules: "no list" }, { directories: ["/a"] }])).toBe("access to /a");
});
