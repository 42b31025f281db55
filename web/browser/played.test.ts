// What a CLI can tell and the scripted model cannot bring about: fast mode, plugins, a server that wants a sign-in, pages of the web, limits of
// a plan, reasons of the CLI, and unknown messages.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, openPanel } from "./at-panel";
import { assistant, called, mayIt, playedBy } from "./played-cli";
import { words } from "./replies";
import { Server } from "./server";
import { part, type Visitor } from "./visitor";

const MODELS = [{ value: "plain-model", displayName: "Plain", supportsFastMode: false }, { value: "quick-model", displayName: "Quick", supportsFastMode: true }];
const LINKS = [{ title: "Knots for sailors", url: "https://knots.example/sailors" }, { title: "Harmless", url: "javascript:alert(1)" }];

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = new Server();
  playedBy(server, {
    init: { skills: ["tidy-up"], plugins: [{ name: "sea-charts", path: "/plugins/sea-charts" }], agents: ["pilot"], mcp_servers: [{ name: "harbour", status: "needs-auth" }], output_style: "terse" },
    fast: ["quick-model"],
    answers: {
      initialize: { commands: [{ name: "compact", description: "Make it short", argumentHint: "[what to keep]" }], agents: [{ name: "pilot", description: "Knows the way in", model: "plain-model" }], models: MODELS, output_style: "terse" },
      mcp_status: { mcpServers: [{ name: "harbour", status: "needs-auth", scope: "user", transport: "http" }] },
      mcp_authenticate: { authUrl: "https://harbour.example/sign-in?state=1", requiresUserAction: true },
    },
    turns: {
      hello: [assistant(words("Here I am."))],
      "the web": [
        ...called("f1", "WebFetch", { url: "https://knots.example/bowline", prompt: "How is it tied?" }, "Round the **tree**.", { bytes: 2048, code: 200, codeText: "OK", result: "Round the **tree**.", durationMs: 900, url: "https://knots.example/bowline" }),
        ...called("s1", "WebSearch", { query: "knots" }, "Found.", { query: "knots", results: [{ tool_use_id: "x", content: LINKS }, "Sailors know **many**."], durationSeconds: 1 }),
        assistant(words("So it is tied.")),
      ],
      "a task": [...called("g1", "TaskGet", { taskId: "4" }, "Task #4", { task: { id: "4", subject: "Mend the net", status: "pending", blocks: [], blockedBy: [] } }), assistant(words("That is the task."))],
      "much more": [{ type: "rate_limit_event", rate_limit_info: { status: "allowed_warning", resetsAt: 4_102_444_800, rateLimitType: "five_hour" } }, { type: "rate_limit_event", rate_limit_info: { status: "rejected", resetsAt: 4_102_444_800, rateLimitType: "five_hour" } }, { type: "result", subtype: "error_during_execution", is_error: true, terminal_reason: "blocking_limit", errors: [] }],
      "too far": [{ type: "result", subtype: "error_max_turns", is_error: true, terminal_reason: "max_turns", errors: [] }],
      strange: [{ type: "tide_table", high: "6:40" }, { type: "system", subtype: "moon_phase", phase: "waxing" }, assistant({ type: "semaphore", flags: "AB" }, words("Did you see that?"))],
      "without asking": [...called("h1", "Bash", { command: "ls -l" }, "total 0", { stdout: "total 0", stderr: "", interrupted: false }), assistant(words("It was allowed already."))],
      "beyond the folder": [mayIt("Read", { file_path: "/etc/hosts" }, { decision_reason: "Path is outside allowed working directories", blocked_path: "/etc/hosts" }), assistant(words("Thank you."))],
    },
  });
  await server.start();
  visitor = await comeAndStart(server);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
});
afterAll(() => part(server, visitor));

const line = (name: RegExp) => visitor.log.getByRole("button", { name, expanded: false }).last();

async function opened(name: RegExp) {
  await line(name).click();
  return visitor.log.locator(".call", { has: visitor.page.getByRole("button", { name, expanded: true }) }).last().locator(".call-body");
}

test("fast mode is shown as reported, and switched by choosing a model that supports it", async () => {
  const panel = await openPanel(visitor, "Settings");
  const fast = panel.getByRole("group", { name: "Fast mode" });
  await fast.getByText("Off", { exact: true }).waitFor();
  await fast.getByRole("button", { name: "Switch to Quick" }).click();
  await visitor.say("hello again");
  await fast.getByText("On", { exact: true }).waitFor();
  await visitor.page.getByRole("group", { name: "Status" }).getByText("Quick").first().waitFor();
  await panel.getByText("terse", { exact: true }).waitFor();
  await panel.getByText("harbour: sign-in required").waitFor();
  await visitor.page.keyboard.press("Escape");
});

test("help lists agents with descriptions, skills, and plugins with paths", async () => {
  const panel = await openPanel(visitor, "Help");
  for (const [section, name] of [["Agents", "Knows the way in"], ["Skills", "tidy-up"], ["Plugins", "/plugins/sea-charts"]] as const) {
    await panel.getByText(new RegExp(`^${section} 1`)).click();
    await panel.getByText(name, { exact: true }).waitFor();
  }
  await panel.getByText("version 2.1.325").waitFor();
  await visitor.page.keyboard.press("Escape");
});

test("a server that requires a sign-in offers its address", async () => {
  const panel = await openPanel(visitor, "MCP servers");
  await panel.getByText("sign-in required").waitFor();
  await panel.getByRole("button", { name: "Sign in" }).click();
  const link = panel.getByRole("link", { name: "Open the sign-in page" });
  expect(await link.getAttribute("href")).toBe("https://harbour.example/sign-in?state=1");
  await panel.getByText("harbour.example", { exact: true }).waitFor();
  await panel.getByRole("textbox", { name: "Final address in the browser" }).fill("http://localhost:1/callback?code=7");
  expect(await panel.getByRole("button", { name: "Finish" }).isEnabled()).toBe(true);
  await visitor.page.keyboard.press("Escape");
});

test("web calls show question and answer, and link sources with their host", async () => {
  await visitor.say("look at the web");
  const page = await opened(/^Fetched knots\.example\/bowline 2 kB/);
  await page.getByText("How is it tied?").waitFor();
  await page.locator("strong", { hasText: "tree" }).waitFor();
  const found = await opened(/^Searched the web for knots 2 results/);
  const source = found.getByRole("link", { name: /^Knots for sailors \(knots\.example/ });
  expect(await source.getAttribute("href")).toBe("https://knots.example/sailors");
  expect(await found.getByRole("link").count()).toBe(1); // the other cannot be a link
  await found.getByText("Harmless").waitFor();
  await found.locator("strong", { hasText: "many" }).waitFor();
});

test("TaskGet is one line", async () => {
  await visitor.say("which is a task");
  await line(/^Read task #4 Mend the net/).waitFor();
});

test("a result without a prompt is not an error", async () => {
  await visitor.say("do it without asking");
  await visitor.sees("It was allowed already.");
  await line(/^Ran ls -l/).waitFor();
  expect(await visitor.page.getByRole("alertdialog").count()).toBe(0);
  expect(await line(/^Ran ls -l/).getByText(/denied|failed|needs you|interrupted/).count()).toBe(0);
});

test("a prompt shows its reason and the blocked path", async () => {
  await visitor.say("go beyond the folder");
  const prompt = visitor.page.getByRole("alertdialog", { name: "Read hosts?" });
  await prompt.getByText("Path is outside allowed working directories").waitFor();
  await prompt.getByRole("definition").getByText("/etc/hosts").waitFor();
  await prompt.getByRole("button", { name: "Allow once" }).click();
  await visitor.sees("Thank you.");
});

test("limits of a plan and of a turn are explained", async () => {
  await visitor.say("do much more");
  await visitor.sees(/^The usage limit of your plan is almost reached; it resets at /);
  await visitor.sees(/^The usage limit of your plan is reached; it resets at /);
  await visitor.sees("The usage limit of your plan is reached. Continue after it resets");
  await visitor.say("go too far");
  await visitor.sees("Stopped: maximum number of turns reached. Send a message to continue");
});

test("unknown messages are shown as such, with their text", async () => {
  await visitor.say("something strange");
  await visitor.sees("Did you see that?");
  for (const [what, inside] of [["tide_table", '"6:40"'], ["system/moon_phase", '"waxing"'], ["semaphore", '"AB"']] as const) {
    await visitor.log.getByText(`Unknown: ${what}`).click();
    await visitor.log.locator("details[open]").getByText(inside).first().waitFor();
  }
});
