// Connecting a model from the start page: an API key, an endpoint, `claude` when it appears; and what happens to the key.

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { KEY, MessagesApi } from "./messages-api";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let api: MessagesApi;
let server: Server;
let ann: Visitor;

beforeAll(async () => {
  api = await MessagesApi.start("Hello from the connected model.");
  server = new Server({ cli: "", env: {} });
  mkdirSync(join(server.home, "bin"));
  server.settings.env = { PATH: `${join(server.home, "bin")}:/usr/bin:/bin`, ANTHROPIC_BASE_URL: api.url };
  await server.start();
  ann = await Visitor.come(server);
  ann.page.setDefaultTimeout(15_000);
});

afterAll(async () => {
  await part(server, ann);
  await api.stop();
});

const dialog = () => ann.page.getByRole("dialog", { name: "Connect a model" });
const model = () => ann.page.locator(".start .model-line");
const stored = () => join(server.home, ".config/handrail/model.json");

/** Every file of a folder, as text. */
function everything(folder: string): string {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), "latin1"))
    .join("");
}

const open = async () => {
  await model().getByRole("button", { name: /Connect a model|Change/ }).click();
  await dialog().waitFor();
};

test("a rejected key is reported at once and nothing changes", async () => {
  await open();
  await dialog().getByRole("radio", { name: /API key/ }).check();
  await dialog().getByLabel("API key", { exact: true }).last().fill("sk-wrong");
  expect(await dialog().locator("input[type=password]").count()).toBe(1);
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
  await dialog().getByRole("button", { name: "Check and connect" }).click();
  await dialog().getByRole("alert").getByText(/rejected the key \(401\): invalid x-api-key/).waitFor();
  expect(existsSync(stored())).toBe(false);
});

test("an accepted key answers in the next session, is stored for its owner only and shown nowhere", async () => {
  await dialog().locator("input[type=password]").fill(KEY);
  await dialog().getByRole("button", { name: "Check and connect" }).click();
  await dialog().waitFor({ state: "detached" });
  await model().getByText("through the Messages API").waitFor();
  expect(statSync(stored()).mode & 0o777).toBe(0o600);
  const field = ann.page.getByRole("textbox", { name: "New task" });
  await field.fill("say hello");
  await field.press("Enter");
  await ann.sees("Hello from the connected model.");
  expect(await ann.page.title()).toBe("say hello · Handrail");
  const shown = await ann.page.evaluate(async () => [document.documentElement.outerHTML, await (await fetch("/api/model")).text(), JSON.stringify({ ...localStorage, ...sessionStorage }), location.href].join());
  expect(shown).not.toContain(KEY);
  expect(everything(join(server.home, "data"))).not.toContain(KEY);
  expect(server.log).not.toContain(KEY);
});

test("the key is used after a restart, and disconnecting deletes it", async () => {
  await server.kill("SIGTERM");
  await server.start();
  await ann.page.goto(`${server.origin}/#/`);
  await model().getByText("through the Messages API").waitFor();
  await open();
  await dialog().getByText("readable by its owner only", { exact: false }).first().waitFor();
  await dialog().getByRole("button", { name: "Disconnect" }).click();
  await dialog().getByText(/In use: .*without a key|In use: Demo mode/).waitFor();
  expect(existsSync(stored())).toBe(false);
});

test("a compatible endpoint is connected with its own model, for this run only", async () => {
  await dialog().getByRole("radio", { name: /Compatible endpoint/ }).check();
  await dialog().getByLabel("Endpoint URL").fill(api.url);
  await dialog().getByLabel("Model name").fill("house-model");
  await dialog().locator("input[type=password]").fill(KEY);
  await dialog().getByRole("checkbox", { name: "Keep the key after a restart" }).uncheck();
  await dialog().getByRole("button", { name: "Check and connect" }).click();
  await dialog().waitFor({ state: "detached" });
  await model().getByText("house-model").waitFor();
  expect(existsSync(stored())).toBe(false);
  expect(api.models.at(-1)).toBe("house-model");
});

test("claude is detected when it is installed, and then used", async () => {
  await open();
  await dialog().getByRole("radio", { name: /Claude account/ }).check();
  await dialog().getByText("npm install -g @anthropic-ai/claude-code").waitFor();
  expect(await dialog().getByRole("button", { name: "Use claude" }).isDisabled()).toBe(true);
  const program = join(server.home, "bin", "claude");
  writeFileSync(program, "#!/bin/sh\necho '2.9.9 (Claude Code)'\n");
  chmodSync(program, 0o755);
  await dialog().getByText("claude is installed but not signed in", { exact: false }).waitFor();
  mkdirSync(join(server.home, ".claude"), { recursive: true });
  writeFileSync(join(server.home, ".claude/.credentials.json"), "{}");
  await dialog().getByText("claude is installed and signed in.").waitFor();
  await dialog().getByRole("button", { name: "Use claude" }).click();
  await model().getByText("claude 2.9.9").waitFor();
});
