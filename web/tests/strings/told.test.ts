// Messages of the CLI, explained for a newcomer.

import { expect, test } from "vitest";

import { strings } from "../../src/strings";
import { hint, refused, taskEnded, told } from "../../src/strings/told";

test("hooks are explained: when they ran, their message and their effect", () => {
  expect(told("Stop hook feedback:\nkeep going")).toBe("A hook kept the model from stopping. Hook: keep going");
  expect(told("UserPromptSubmit operation blocked by hook:\nprompt blocked\n\nOriginal prompt: go")).toBe("A hook blocked your message; the model did not receive it. Hook: prompt blocked.");
  expect(told("PreToolUse: Hook callback h_pre failed: the SDK host replied with an error.")).toBe("The hook that runs before a tool is used failed. It was ignored.");
  expect(told("PreToolUse:Bash says: note to user")).toBe("The hook that runs before Bash is used says: note to user");
});

test("a command hook shows its output, not the command", () => {
  expect(told("The prompt was blocked by a hook: [grep -q [a-z] && exit 2]: not for here\n")).toBe("A hook blocked your message; the model did not receive it. Hook: not for here.");
  expect(told("Stop hook feedback:\n[./check.sh]: run the tests first\n")).toBe("A hook kept the model from stopping. Hook: run the tests first");
  expect(told("PreToolUse:Bash hook error: [echo nope >&2; exit 2]: nope\n")).toBe("Denied by a hook: nope");
  expect(told("PostToolUse: the hook [echo bad >&2; exit 1] failed with exit code 1: bad")).toBe("The hook that runs after a tool was used failed with exit code 1: bad. It was ignored.");
});

test("a text shown on another line is not repeated", () => {
  expect(told("Stop hook error occurred · ctrl+o to see")).toBe("");
  expect(told("This session is being continued from a previous conversation that ran out of context.")).toBe("");
});

test("the CLI's note to the model about an invalid answer is explained to the user", () => {
  expect(told("Output token limit hit. Resume directly — no apology")).toContain("maximum length");
  expect(told("Your response above was cut off mid-stream. Resume")).toContain("connection was lost");
});

test("unknown texts are left unchanged", () => {
  expect(told("Something new")).toBe("Something new");
});

test("a refusal says who refused and what", () => {
  expect(refused("Bash", "rule", "Permission to use Bash with command git push has been denied.")).toBe("A rule in your settings denied Bash: git push");
  expect(refused("Write", "mode", "Permission to use Write has been denied because Claude Code is running in don't ask mode. IMPORTANT: You *may* …")).toBe("Write was denied: the permission mode denies everything without an allow rule.");
  expect(refused("Bash", "", "Permission to use Bash has been denied: the rule Bash(rm *) denies it.")).toBe("The rule Bash(rm *) in your settings denied Bash.");
  expect(refused("Bash", "constructor", "")).toBe("Bash was denied without asking.");
});

test("an error of the API says what can be done", () => {
  expect(hint(["Not logged in · Please run /login"])).toContain("/login");
  expect(hint(["API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)"])).toContain("could not be reached");
  expect(hint(["API Error: 529 Overloaded."])).toContain("temporary");
  expect(hint(["API Error: 400 bad thing"])).toBe("");
});

test("a background task shows how it ended", () => {
  expect(taskEnded("stopped", "sleep 9", "sleep 9")).toBe("“sleep 9” was stopped.");
  expect(taskEnded("completed", "sleep 9", 'Background command "sleep 9" completed (exit code 0)')).toBe("“sleep 9” finished in the background with exit code 0.");
  expect(taskEnded("completed", "a job", "All is well")).toBe("“a job” finished in the background: All is well");
  expect(taskEnded("failed", "a job", "no way")).toBe("“a job” failed in the background: no way");
});

test("a retry says what failed, when it is tried again and how often", () => {
  const retry = strings.notices["api_retry"]!;
  expect(retry({ error: "overloaded", status: 529, seconds: 4, attempt: 3, most: 10 })).toBe("The API is overloaded (529), retrying in 4 s (3 of 10)");
  expect(retry({ error: "unknown", status: 0, seconds: 0.5, attempt: 1, most: 10 })).toBe("The connection to the API failed, retrying in 0.5 s (1 of 10)");
});

test("every end of a turn has a text", () => {
  const reasons = "aborted_streaming aborted_tools max_turns budget_exhausted api_error prompt_too_long blocking_limit image_error hook_stopped tool_deferred structured_output_retry_exhausted crashed error_during_execution error_max_turns error_max_budget_usd error_max_structured_output_retries";
  expect(reasons.split(" ").filter((reason) => !strings.conversation.problems[reason])).toEqual([]);
});

test("a limit of the plan says when it resets", () => {
  const limit = strings.notices["rate_limit"]!;
  expect(limit({ status: "rejected", resetsAt: 1_794_800_000 })).toMatch(/^The usage limit of your plan is reached; it resets at \d\d:\d\d$/);
  expect(limit({ status: "allowed_warning" })).toBe("The usage limit of your plan is almost reached");
});
