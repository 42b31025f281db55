// The list of tasks, live: what is done, what is being done, what waits for what; and work in the background that can be stopped.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, openPanel, picture } from "./at-panel";
import { Server } from "./server";
import { part } from "./visitor";

const create = (subject: string, activeForm: string) => ({ type: "tool_use", name: "TaskCreate", input: { subject, description: `${subject}, and well.`, activeForm } });
const update = (taskId: string, fields: object) => ({ type: "tool_use", name: "TaskUpdate", input: { taskId, ...fields } });

let server: Server;
beforeAll(async () => {
  server = await Server.start({
    files: { "../.claude/settings.json": JSON.stringify({ model: "claude-haiku-4-5", permissions: { allow: ["Bash"] } }) }, // a model that is given a list of tasks
    script: {
      replies: [
        { blocks: [create("Write the test", "Writing the test"), create("Make it pass", "Making it pass"), create("Tidy up", "Tidying up")] },
        { blocks: [update("1", { status: "completed" }), update("2", { status: "in_progress" }), update("3", { addBlockedBy: ["2"] })] },
        { blocks: [{ type: "text", text: "Half way." }] },
        { blocks: [update("2", { status: "completed" })] },
        { blocks: [{ type: "text", text: "Nearly there." }] },
        { blocks: [{ type: "tool_use", name: "Bash", input: { command: "sleep 300", description: "Wait long", run_in_background: true } }] },
      ],
      afterwards: { blocks: [{ type: "text", text: "It runs." }] },
    },
  });
});
afterAll(() => part(server));

test("tasks show their state and what blocks them, and update live", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  expect(await page.getByRole("button", { name: /^Tasks \d/ }).count()).toBe(0);
  await visitor.say("go");
  await visitor.sees("Half way.");
  expect(await page.getByRole("complementary").count()).toBe(0); // it never opens by itself
  await page.getByRole("button", { name: "Tasks 1/3" }).click();
  const panel = page.getByRole("complementary", { name: "Tasks" });
  await panel.getByText("1 of 3 done").waitFor();
  const now = panel.getByRole("listitem").filter({ hasText: "Making it pass" });
  expect(await now.getAttribute("aria-current")).toBe("step");
  await panel.getByRole("listitem").filter({ hasText: "done: #1 Write the test" }).waitFor();
  await panel.getByRole("listitem").filter({ hasText: "Tidy up" }).getByText("waits for #2").waitFor();
  await picture(visitor, "tasks");
  expect(await faultsOf(page, "aside")).toEqual([]);
  await visitor.say("on");
  await visitor.sees("Nearly there.");
  await panel.getByText("2 of 3 done").waitFor();
  expect(await panel.getByText("waits for #2").count()).toBe(0);

  await visitor.say("in the background");
  await visitor.sees("It runs.");
  await page.getByRole("button", { name: /Tasks 2\/3 · 1 in the background/ }).waitFor();
  const background = panel.getByRole("region", { name: "In the background" });
  await background.getByText(/running/).waitFor();
  await picture(visitor, "tasks-background");
  await background.getByRole("button", { name: /^Stop/ }).click();
  await background.getByText("command · stopped").waitFor();
  await openPanel(visitor, "Help");
  await visitor.leave();
});
