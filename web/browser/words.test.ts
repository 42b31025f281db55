// Events in words: retries, errors with advice, Stop, hooks that block, continue and fail, rules that deny.

import { afterAll, beforeAll, test } from "vitest";

import { comeAndStart, picture } from "./at-panel";
import { Server } from "./server";
import { part } from "./visitor";

const hook = (command: string, matcher?: string) => [{ ...(matcher && { matcher }), hooks: [{ type: "command", command }] }];
const SETTINGS = {
  permissions: { allow: ["Bash(echo *)"], deny: ["Bash(rm *)"] },
  hooks: {
    UserPromptSubmit: hook("grep -q forbidden && { echo 'that word is not for here' >&2; exit 2; } || true"),
    PreToolUse: hook("grep -q secret && { echo 'secrets stay here' >&2; exit 2; } || true", "Bash"),
    PostToolUse: hook("echo 'no disk' >&2; exit 1", "Bash"),
    Stop: hook("[ -e stopped ] || { touch stopped; echo 'run the tests first' >&2; exit 2; }"),
  },
};
const bash = (command: string) => ({ blocks: [{ type: "tool_use", name: "Bash", input: { command } }] });
const on = (prompt: string, reply: object) => ({ when: { prompt }, times: 1, ...reply });

let server: Server;
beforeAll(async () => {
  server = await Server.start({
    files: { "../.claude/settings.json": JSON.stringify(SETTINGS) },
    script: {
      replies: [
        { when: { prompt: "overload" }, error: { status: 529, headers: { "retry-after": "1" } }, times: 1 },
        on("wrong key", { error: { status: 403, type: "permission_error", message: "Failed to authenticate" } }),
        on("talk long", { blocks: [{ type: "text", text: "word ".repeat(400) }], delay: 0.05 }),
        on("read it", bash("echo secret")),
        on("say it", bash("echo hi")),
        on("remove it", bash("rm important.txt")),
      ],
      afterwards: { blocks: [{ type: "text", text: "All right." }] },
    },
  });
});
afterAll(() => part(server));

test("hooks are explained: one continues the turn, one blocks a message, one denies a tool", async () => {
  const visitor = await comeAndStart(server);
  await visitor.say("begin");
  await visitor.sees(/A hook kept the model from stopping\. Hook:.*run the tests first/);
  await visitor.say("something forbidden");
  await visitor.sees(/A hook blocked your message; the model did not receive it\. Hook:.*that word is not for here/);
  await visitor.say("read it");
  await visitor.log.getByRole("button", { name: /echo secret/ }).getByText("denied", { exact: true }).waitFor();
  await visitor.sees("Denied by a hook: secrets stay here");
  await visitor.say("say it");
  await visitor.sees("The hook that runs after a tool was used failed with exit code 1: no disk. It was ignored.");
  await picture(visitor, "words-hooks");
  await visitor.leave();
});

test("a retry, an error with advice, and a stopped turn are explained", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  await visitor.say("overload");
  await visitor.sees(/^The API is overloaded \(529\), retrying in .* s \(1 of \d+\)/);
  await visitor.sees("All right.");
  await visitor.say("wrong key");
  await visitor.sees("The turn ended with an API error");
  await visitor.sees(/The login or API key was rejected\. Fix it on the machine that runs the server/);
  await visitor.say("talk long");
  await visitor.sees(/word word/);
  await page.keyboard.press("Escape");
  await visitor.sees("Stopped by you");
  await picture(visitor, "words-errors");
  await visitor.leave();
});

test("a denial names its rule, and is counted at the end of the turn", async () => {
  const visitor = await comeAndStart(server);
  await visitor.say("remove it");
  await visitor.sees("The rule Bash(rm *) in your settings denied Bash.");
  await visitor.log.getByText("1 call denied in this turn").click();
  await visitor.log.getByRole("listitem").filter({ hasText: "Bash" }).getByText("rm important.txt").waitFor();
  await picture(visitor, "words-denied");
  await visitor.leave();
});
