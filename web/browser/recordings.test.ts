// Recordings of the real CLI, played back as the CLI behind a real bridge: what the page shows is what the assistant said.

import { chmodSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { blocks, object, text } from "../src/protocol/wire";
import { linesOf, recordings, nameOf, wordsOf } from "../tests/state/recording";
import { Server } from "./server";
import { begin } from "./session";
import { part, Visitor } from "./visitor";

const PLAYED = ["plain_partial", "tool_partial", "thinking_plain", "redacted_thinking", "slow_two_blocks", "api_truncated_midblock", "api_429_retry", "multiturn", "queued_users", "slash_cost", "bash_fail", "parallel_ro", "subagent_fg", "hook_stop_block", "max_turns"];
const REPLAY = resolve(import.meta.dirname, "../../.venv/bin/handrail");
/** A screen that shows all rows at once. */
const TALL = { width: 1000, height: 3000 };
const PATIENCE = { timeout: 20_000 };
const files = recordings().filter((file) => PLAYED.includes(nameOf(file)));

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = new Server();
  // A CLI that says what the recording says that is named in its folder.
  const player = join(server.home, "claude-player");
  writeFileSync(player, `#!/bin/sh\n[ -f play ] || { echo 2.1.325; exit 0; }\nexec ${REPLAY} replay "$(cat play)" "$@"\n`);
  chmodSync(player, 0o755);
  for (const file of files) server.write(join(nameOf(file), "play"), file);
  server.settings.cli = player;
  await server.start();
  visitor = await Visitor.come(server, { size: TALL });
});
afterAll(() => part(server, visitor));

/** Words as they are read: of Markdown only what it says. */
const plain = (words: string): string => words.replace(/[*_`#>|~\\-]/g, "").replace(/\s+/g, "");
const shown = async (): Promise<string[]> => (await visitor.log.locator(".words").allTextContents()).map(plain).filter(Boolean);

/** How many turns have ended. Whatever is asked meanwhile is allowed. */
async function ends(): Promise<number> {
  const allow = visitor.page.getByRole("alertdialog").getByRole("button", { name: /^(Allow|Yes)/ }).first();
  if (await allow.isVisible()) await allow.click();
  return visitor.log.locator(".turn-end").count();
}

test.each(files.map((file) => [nameOf(file), file]))("%s", async (name, file) => {
  const lines = linesOf(file);
  const prompts = lines.filter(({ dir, msg }) => dir === "in" && msg["type"] === "user").map(({ msg }) => blocks(object(msg["message"])["content"]).map((block) => text(block["text"])).join("\n"));
  const results = lines.filter(({ dir, msg }) => dir === "out" && msg["type"] === "result").length;
  await begin(visitor, name);
  for (const [at, prompt] of prompts.entries()) {
    await visitor.say(prompt);
    if (prompts.length === results) await expect.poll(ends, PATIENCE).toBe(at + 1);
  }
  const expected = wordsOf(lines).map(([, words]) => plain(words)).filter(Boolean);
  await expect.poll(shown, PATIENCE).toEqual(expected);
  await expect.poll(() => visitor.log.locator(".said-words").count()).toBe(prompts.length);
  await visitor.page.reload();
  await expect.poll(shown, PATIENCE).toEqual(expected);
  expect(await visitor.log.getByText(/does not know/).count()).toBe(0);
});

test("the page reported no error", async () => {
  await visitor.leave();
});
