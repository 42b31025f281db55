// The files that a session wrote: each with what changed, from before the first change to after the last, and all of it as a patch.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, openPanel, picture } from "./at-panel";
import { Server } from "./server";
import { part, PHONE } from "./visitor";

const tool = (name: string, input: object) => ({ blocks: [{ type: "tool_use", name, input }] });

let server: Server;
beforeAll(async () => {
  server = new Server({
    files: { "../.claude/settings.json": JSON.stringify({ permissions: { allow: ["Write", "Edit", "Read"] } }), "greet.py": "def greet():\n    return 'hello'\n" },
    script: { replies: [] },
  });
  const path = `${server.folder}/greet.py`;
  server.write("../script.json", JSON.stringify({
    replies: [
      tool("Write", { file_path: `${server.folder}/new.txt`, content: "one\ntwo\n" }),
      tool("Read", { file_path: path }),
      tool("Edit", { file_path: path, old_string: "hello", new_string: "good day" }),
      tool("Edit", { file_path: path, old_string: "good day", new_string: "good evening" }),
    ],
    afterwards: { blocks: [{ type: "text", text: "Written." }] },
  }));
  await server.start();
});
afterAll(() => part(server));

test("changed files are listed, open as diffs and can be copied as a patch", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  await visitor.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const panel = await openPanel(visitor, "Changes");
  await panel.getByText("No files changed yet.").waitFor();
  await visitor.say("go");
  await visitor.sees("Written.");
  await panel.getByText("2 files").waitFor();
  const edited = panel.getByRole("button", { name: /^greet\.py/ });
  expect(await edited.innerText()).toMatch(/\+1\s+−1/);
  await panel.getByRole("button", { name: /^new\.txt new file/ }).waitFor();
  await edited.click();
  await panel.getByText("good evening").first().waitFor();
  expect(await panel.getByText("good day").count()).toBe(0); // one diff, without the steps in between
  await panel.getByText("Each change separately: 2 changes").click();
  await panel.getByText("good day").first().waitFor();
  await picture(visitor, "changes");
  expect(await faultsOf(page, "aside")).toEqual([]);
  await panel.getByRole("button", { name: "Copy all as a patch" }).click();
  await page.getByText("Copied").first().waitFor();
  const patch = (await page.evaluate("navigator.clipboard.readText()")) as string;
  expect(patch).toContain("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two");
  expect(patch).toContain("-    return 'hello'\n+    return 'good evening'");
  await page.setViewportSize(PHONE);
  await picture(visitor, "changes-phone");
  await visitor.leave();
});
