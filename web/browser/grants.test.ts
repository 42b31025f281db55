// What a question shows before one says yes: the command in its colours, the diff; and how far a yes goes, in words, to the file that keeps it.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart } from "./at-panel";
import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, type Visitor } from "./visitor";

const LONG = Array.from({ length: 200 }, (_, at) => `value_${at} = ${at}`).join("\n");

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  const replies = [
    on("make folders", words("A folder."), use("Bash", { command: 'mkdir "one two" # for later', description: "Make a folder" })),
    after("A folder.", words("So be it.")),
    on("for the project", words("Of the project."), use("Bash", { command: "mkdir three" })),
    after("Of the project.", words("Again, of the project."), use("Bash", { command: "mkdir three" })),
    after("Again, of the project.", words("Not asked again.")),
    on("for all projects", words("Of all."), use("Bash", { command: "mkdir four" })),
    after("Of all.", words("Kept for all.")),
    on("change a value", words("I look."), use("Read", { file_path: "long.py" })),
    after("I look.", words("I change it."), use("Edit", { file_path: "long.py", old_string: "value_100 = 100", new_string: "value_100 = 101" })),
    after("I change it.", words("It is changed.")),
  ];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } }, files: { "long.py": `${LONG}\n` } });
  visitor = await comeAndStart(server);
});
afterAll(() => part(server, visitor));

const prompt = () => visitor.page.getByRole("alertdialog");
const rulesOf = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");

/** Open what would be remembered, tick the first, and choose how far it goes. */
async function remember(scope: string): Promise<void> {
  await prompt().getByText("Don’t ask again…").click();
  await prompt().getByRole("checkbox").first().check();
  await prompt().getByRole("combobox", { name: /^Applies to: / }).first().selectOption({ label: scope });
  await prompt().getByRole("button", { name: "Allow and don’t ask again" }).click();
  await prompt().waitFor({ state: "detached" });
}

test("a command is highlighted as shell code, with its purpose", async () => {
  await visitor.say("make folders");
  await prompt().getByText("Make a folder").waitFor();
  await prompt().locator(".syntax-string", { hasText: "one two" }).waitFor();
  await prompt().locator(".syntax-comment", { hasText: "for later" }).waitFor();
  await prompt().getByText("Don’t ask again…").click();
  await expect.poll(() => prompt().getByRole("combobox", { name: /^Applies to: / }).first().locator("option").allTextContents()).toEqual(["This session", "This project, only me", "This project, everyone", "All my projects"]);
  await prompt().press("n");
  await visitor.sees("So be it.");
});

test("a grant for the project is written to its settings and prevents the next prompt", async () => {
  await visitor.say("for the project");
  await remember("This project, only me");
  await visitor.sees("Not asked again.");
  expect(rulesOf(join(server.folder, ".claude/settings.local.json"))).toMatch(/Bash\(mkdir/);
  expect(rulesOf(join(server.home, ".claude/settings.json"))).not.toMatch(/mkdir/);
});

test("a grant for all projects is written to the user's settings", async () => {
  await visitor.say("for all projects");
  await prompt().waitFor();
  await remember("All my projects");
  await visitor.sees("Kept for all.");
  expect(rulesOf(join(server.home, ".claude/settings.json"))).toMatch(/Bash\(mkdir/);
});

test("a prompt shows an edit as a word diff, folded in a long file", async () => {
  await visitor.say("change a value");
  await prompt().locator("del", { hasText: "100" }).first().waitFor();
  await prompt().locator("ins", { hasText: "101" }).first().waitFor();
  await prompt().getByRole("button", { name: "Allow once" }).click();
  await visitor.sees("It is changed.");
  await visitor.log.getByRole("button", { name: /^Edited long\.py \+1 −1/ }).click();
  const diff = visitor.log.getByRole("region", { name: "Changes in long.py" });
  await diff.getByText("97 unchanged lines").waitFor();
  expect(await diff.getByText("value_0 = 0", { exact: true }).count()).toBe(0);
  await diff.getByText("value_98 = 98").waitFor();
});
