// Foreign text stays text: in answers, output, names, diffs, titles and questions. The payloads would set a flag, open a dialog or send a request.

import { marked } from "marked";
import { afterAll, beforeAll, expect, test } from "vitest";

import { PAYLOADS } from "../tests/fixtures/payloads";
import { use, words as text } from "./replies";
import { Server, type Reply } from "./server";
import { part, sharedBrowser, Visitor } from "./visitor";

const turn = (prompt: string, ...blocks: unknown[]): Reply => ({ when: { prompt }, times: 1, blocks, chunk: 4000 });

const ALL = PAYLOADS.join("\n\n");
/** So many calls in one turn; the payloads are dealt out over them. */
const groups = (count: number): string[][] => Array.from({ length: count }, (_, at) => PAYLOADS.filter((_one, place) => place % count === at));

/** A shell takes no such characters, and is not asked for. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const HIDDEN = /[\u0000-\u0008\u000B-\u001F]/;

const option = (payload: string) => ({ label: payload.slice(0, 60), description: payload });
const questions = (payloads: string[]) => [0, 1, 2, 3].map((at) => ({ question: `${at} ${payloads.slice(at * 8, at * 8 + 8).join(" ")}?`, header: payloads[at]!.slice(0, 12), multiSelect: at % 2 === 0, options: payloads.slice(at * 4, at * 4 + 4).map(option) }));
const mcpName = (payload: string): string => `mcp__${payload.slice(0, 60)}__${payload.slice(0, 60)}`;

const replies: Reply[] = [
  turn("words", { type: "thinking", thinking: ALL }, text(ALL)),
  turn("output", use("Bash", { command: "cat payloads.txt", description: PAYLOADS.slice(0, 40).join(" ") }), use("Read", { file_path: "payloads.txt" })),
  turn("names", ...PAYLOADS.map((payload) => use("Read", { file_path: `names/${payload}` }))),
  turn("tools", ...PAYLOADS.map((payload) => use(mcpName(payload), { [payload]: payload })), ...PAYLOADS.slice(0, 40).map((payload) => use(payload, { x: payload }))),
  turn("diffs", ...groups(4).map((some, at) => use("Edit", { file_path: `part${at}.txt`, old_string: "nothing", new_string: some.join("\n") }))),
  turn("asked", use("Bash", { command: `touch ${PAYLOADS.filter((one) => !HIDDEN.test(one)).join("\n")}`, description: ALL.slice(0, 2000) })),
  turn("written", use("Write", { file_path: `dir/${PAYLOADS[8]!.replaceAll("/", "_")}`, content: ALL })),
  turn("questions", use("AskUserQuestion", { questions: questions([...PAYLOADS]) })),
];

let server: Server;
let visitor: Visitor;
let dialogs = 0;
const sessions: string[] = [];

beforeAll(async () => {
  server = new Server({
    script: { replies, afterwards: { blocks: [text("Over.")] } },
    files: {
      "payloads.txt": ALL,
      ...Object.fromEntries(groups(4).map((_, at) => [`part${at}.txt`, "nothing\n"])),
      "../.claude/settings.json": JSON.stringify({ permissions: { allow: ["Read", "Edit(/part*)", "Bash(cat:*)"] } }),
    },
  });
  await server.start();
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(20_000);
  visitor.page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  await visitor.startSession();
});

afterAll(() => part(server, visitor));

/** What is on the page now that should never be there. Then opens every call in sight and scrolls on; `place` is where the conversation is scrolled to. */
const audit = (): Promise<{ faults: string[]; place: number }> =>
  visitor.page.evaluate(() => {
    const faults: string[] = (globalThis as Record<string, unknown>)["__xss"] === undefined ? [] : ["something ran"];
    for (const element of document.body.querySelectorAll("script, iframe, object, embed, base, meta, link, style, form[action], video, audio, foreignObject, animate, set, use, math")) faults.push(element.outerHTML.slice(0, 200));
    for (const element of document.body.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on") || name === "srcdoc" || name === "ping" || name === "formaction") faults.push(`${element.tagName} ${name}=${value}`);
        if (name === "href" && !/^(https?:|mailto:|#)/.test(value)) faults.push(`${element.tagName} href=${value}`);
        if (name === "src" && value !== "/icon.svg" && !/^(data:image\/(png|jpeg|gif|webp);|blob:)/.test(value)) faults.push(`${element.tagName} src=${value}`);
      }
    }
    const rows = document.querySelector(".rows")!;
    for (const one of rows.querySelectorAll<HTMLElement>("details:not([open]) > summary, button[aria-expanded='false'].call-line")) one.click();
    rows.scrollBy(0, rows.clientHeight * 0.8);
    return { faults, place: rows.scrollTop };
  });

/** Through the whole conversation, everything opened on the way. */
async function readAll(): Promise<void> {
  await visitor.log.locator(".rows").evaluate((box) => box.scrollTo(0, 0));
  for (let before = -1, steps = 0; steps < 400; steps += 1) {
    const { faults, place } = await audit();
    expect(faults).toEqual([]);
    if (place === before) break;
    before = place;
  }
  expect((await audit()).faults).toEqual([]); // what the last step opened
}

/** A separate session with one turn. */
async function tried(what: string): Promise<void> {
  await visitor.startSession();
  sessions.push(visitor.page.url().split("/").at(-1)!);
  await visitor.say(what);
}

test.each(["words", "output", "names", "tools", "diffs"])("nothing runs in %s", async (what) => {
  await tried(what);
  await visitor.page.locator(".turn-end, [role=alertdialog]").first().waitFor(); // some names are asked about
  await readAll();
  expect(dialogs).toBe(0);
}, 120_000);

test.each(["asked", "written", "questions"])("nothing runs in a prompt: %s", async (what) => {
  await tried(what);
  const prompt = visitor.page.getByRole("alertdialog");
  await prompt.waitFor();
  for (const tab of await prompt.getByRole("tab").all()) {
    await tab.click();
    expect((await audit()).faults).toEqual([]);
  }
  expect((await audit()).faults).toEqual([]);
  await prompt.press("Escape");
  await prompt.waitFor({ state: "hidden" });
  await visitor.log.locator(".turn-end").waitFor();
  await readAll();
  expect(dialogs).toBe(0);
});

test("nothing runs in the title of a session, in the list and in the tab's title", async () => {
  const session = visitor.page.url().split("/").at(-1)!;
  await visitor.page.evaluate(
    async ([id, titles]) => {
      const rename = (title: string, at: number) => fetch("/api/commands", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ id: `title-${at}`, command: "rename", fields: { session: id, title } }) });
      for (const [at, title] of titles.entries()) await rename(title, at);
    },
    [session, PAYLOADS.map((payload) => payload.slice(0, 150))] as const,
  );
  await visitor.page.getByRole("heading", { level: 1, name: "onerror=window.__xss=1" }).waitFor();
  expect((await audit()).faults).toEqual([]);
  expect(dialogs).toBe(0);
});

test("an export runs nothing, even in a reader that trusts it", async () => {
  const exports = await visitor.page.evaluate(async (ids) => {
    const answers = await Promise.all(ids.map((id) => fetch(`/api/sessions/${id}/export?format=markdown`)));
    return Promise.all(answers.map(async (answer) => ({ type: answer.headers.get("content-type") ?? "", disposition: answer.headers.get("content-disposition") ?? "", words: answer.ok ? await answer.text() : "" })));
  }, sessions);
  for (const { type, disposition, words } of exports) {
    expect(words).not.toBe("");
    expect(type).toContain("text/markdown");
    expect(disposition).toMatch(/^attachment/);
  }
  const context = await (await sharedBrowser()).newContext({ offline: true });
  const page = await context.newPage();
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  for (const { words } of exports) {
    await page.setContent(await marked.parse(words), { waitUntil: "domcontentloaded" });
    expect(await page.evaluate(() => (globalThis as Record<string, unknown>)["__xss"])).toBeUndefined();
    expect(await page.locator("body script, body iframe, body svg, body object, body form").count()).toBe(0);
  }
  expect(dialogs).toBe(0);
  await context.close();
});
