// Notices of the page.

import { expect, test } from "vitest";

import { notices } from "../../src/strings/notices";

const answered = notices["answered"]!;

test("an answer from elsewhere says what was answered and where", () => {
  expect(answered({ kind: "permission", tool: "Bash", behavior: "allow", by: "Phone" })).toBe("Allowed Bash on Phone");
  expect(answered({ kind: "questions", behavior: "deny", by: "Phone" })).toBe("Not answered on Phone");
  expect(answered({ kind: "plan", behavior: "allow" })).toBe("Plan approved on another device");
});

test("an answer from here says only what the call does not say itself", () => {
  expect(answered({ kind: "permission", tool: "Bash", behavior: "allow", by: "Desk", here: true })).toBe("");
  expect(answered({ kind: "permission", tool: "Bash", behavior: "deny", by: "Desk", reason: "not now", here: true })).toBe("Denied Bash: not now");
});

test("a compaction tells sizes only where both are known", () => {
  expect(notices["compacted"]!({ before: 195_029, after: 0 })).toMatch(/^Context compacted\. /);
  expect(notices["compacted"]!({ before: 195_029, after: 1200 })).toMatch(/^Context compacted from 195,029 to 1,200 tokens\. /);
});
