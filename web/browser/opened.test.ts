// The reader's place in a conversation that changes meanwhile: a press of the mouse, opened rows, focus, selection and scroll position. The
// CLI pauses in the middle of a turn until the test has acted.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { assistant, called, hold, playedBy, release } from "./played-cli";
import { words } from "./replies";
import { Server } from "./server";
import { begin } from "./session";
import { part, Visitor } from "./visitor";

type Json = Record<string, unknown>;

/** The stream of one block up to its last delta, and the complete message. `deltas`: pieces, between which the CLI may pause. */
function streamed(id: string, begun: Json, deltas: Json[], whole: Json, parent: string | null = null): Json[] {
  const event = (event: Json): Json => ({ type: "stream_event", parent_tool_use_id: parent, api_message_id: id, event });
  return [
    event({ type: "message_start", message: { id } }),
    event({ type: "content_block_start", index: 0, content_block: begun }),
    ...deltas.map((delta) => (delta["type"] === "hold" ? delta : event({ type: "content_block_delta", index: 0, delta }))),
    { type: "assistant", parent_tool_use_id: parent, message: { id, role: "assistant", model: "plain-model", content: [whole] } },
    event({ type: "content_block_stop", index: 0 }),
    event({ type: "message_stop" }),
  ];
}

const result = (id: string, content: string, parent: string | null = null): Json => ({ type: "user", parent_tool_use_id: parent, message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] } });
const typedCall = (id: string, name: string, input: Json, parent: string | null = null): Json[] => [
  ...streamed(`m-${id}`, { type: "tool_use", id, name, input: {} }, [{ type: "input_json_delta", partial_json: JSON.stringify(input).slice(0, -2) }, hold(id)], { type: "tool_use", id, name, input }, parent),
  hold(`${id}-result`),
  result(id, `what ${id} printed`, parent),
];
const paragraphs = (name: string, length = 40): string => Array.from({ length }, (_, at) => `${name} ${at}`).join("\n\n");
/** Keeps what is pressed away from the lower edge, where a browser scrolls by itself while the mouse is down. */
const AT_EDGE = paragraphs("edge", 3);
const look = (id: string): Json[] => called(id, "Read", { file_path: `${id}.txt` }, `1\tcontent of ${id}`);

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = new Server();
  playedBy(server, {
    turns: {
      "press": [assistant(words(paragraphs("above"))), ...called("pressed", "Bash", { command: "echo pressed" }, "pressed output"), assistant(words(AT_EDGE)), hold("press"), assistant(words(paragraphs("below", 5))), hold("pressed")],
      "stream": [assistant(words(paragraphs("before"))), ...called("streamed", "Bash", { command: "echo streamed" }, "output"), assistant(words(AT_EDGE))],
      "drag": [assistant(words(paragraphs("over"))), assistant(words("**Select these words.**")), assistant(words(AT_EDGE)), hold("drag"), assistant(words(paragraphs("under", 5))), hold("dragged")],
      "type": typedCall("typed", "Bash", { command: "echo typed" }),
      "think": [
        ...streamed("m-think", { type: "thinking", thinking: "" }, [{ type: "thinking_delta", thinking: "A thought" }, hold("think")], { type: "thinking", thinking: "A thought to the end." }),
        hold("thought"),
        assistant(words(paragraphs("after the thought"))),
        assistant(words(paragraphs("long after"))),
      ],
      "delegate": [
        assistant({ type: "tool_use", id: "task", name: "Task", input: { description: "Look around", prompt: "Look." } }),
        ...typedCall("nested", "Bash", { command: "echo nested" }, "task"),
        ...streamed("m-nested-thought", { type: "thinking", thinking: "" }, [{ type: "thinking_delta", thinking: "Nested thought" }, hold("nested-thought")], { type: "thinking", thinking: "Nested thought, complete." }, "task"),
        hold("nested-done"),
        result("task", "Found."),
      ],
      "look": [...look("first"), hold("look"), ...look("second"), ...look("third"), ...look("fourth"), hold("looked")],
      "search the web": [
        ...streamed("m-web", { type: "server_tool_use", id: "web", name: "web_search", input: {} }, [hold("web")], { type: "server_tool_use", id: "web", name: "web_search", input: { query: "knots" } }),
        hold("web-done"),
      ],
      "write": [...streamed("m-write", { type: "text", text: "" }, [{ type: "text_delta", text: "These words were selected.\n\nMore" }, hold("write")], words("These words were selected.\n\nMore follows.")), hold("written")],
      "scroll": [assistant(words(paragraphs("read"))), ...streamed("m-scroll", { type: "text", text: "" }, [{ type: "text_delta", text: paragraphs("unread") }, hold("scroll")], words(paragraphs("unread"))), hold("scrolled")],
    },
  });
  await server.start();
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(10_000);
});
beforeEach(() => begin(visitor).then(() => undefined)); // a session each, so that a test which fails holds up no other
afterAll(() => part(server, visitor));

const button = (name: RegExp) => visitor.log.getByRole("button", { name }).last();
const stateOf = (name: RegExp) => button(name).getAttribute("aria-expanded");
const isNow = (status: string, name: RegExp) => visitor.log.locator(`.call.${status} > .call-line`).and(button(name)).waitFor();
const announced = (text: string) => visitor.log.locator("[aria-live=polite]").getByText(text).last().waitFor({ state: "attached" });
const rest = () => visitor.page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
const offset = () => visitor.log.locator(".rows").evaluate((rows) => rows.scrollTop);
const toEnd = () => visitor.log.locator(".rows").evaluate((rows) => rows.scrollHeight - rows.clientHeight - rows.scrollTop);

test("a mouse press holds the conversation still, so that the click hits", async () => {
  const { mouse } = visitor.page;
  await visitor.say("press");
  const line = button(/echo pressed/);
  await isNow("done", /echo pressed/);
  await visitor.sees("edge 2");
  await expect.poll(toEnd).toBeLessThan(2);
  await line.hover(); // waits until it no longer moves
  const before = (await line.boundingBox())!;
  await mouse.down();
  await release(server, "press");
  await announced("below 0");
  expect(await line.boundingBox()).toEqual(before);
  await mouse.up();
  await expect.poll(() => stateOf(/echo pressed/)).toBe("true");
  await expect.poll(toEnd).toBeLessThan(2); // it follows the conversation again
  await release(server, "pressed");
  await rest();
});

test("rows can be clicked while the conversation scrolls, as it does all the time while text streams", async () => {
  await visitor.say("stream");
  await isNow("done", /echo streamed/);
  const hit = await button(/echo streamed/).evaluate(async (line) => {
    const rows = line.closest(".rows")!;
    const scrolled = new Promise((done) => rows.addEventListener("scroll", done, { once: true }));
    rows.scrollTop -= 10;
    await scrolled;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); // drawn as a list that scrolls
    const { x, y, width, height } = line.getBoundingClientRect();
    return line.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  });
  expect(hit).toBe(true);
});

test("text can be selected with the mouse while more arrives below", async () => {
  const { mouse } = visitor.page;
  await visitor.say("drag");
  const text = visitor.log.locator("strong", { hasText: "Select these words." });
  await visitor.sees("edge 2");
  await expect.poll(toEnd).toBeLessThan(2);
  await text.hover({ position: { x: 1, y: 9 } }); // waits until it no longer moves
  const before = (await text.boundingBox())!;
  await mouse.down();
  await release(server, "drag");
  await announced("under 0");
  await mouse.move(before.x + before.width - 1, before.y + before.height / 2, { steps: 3 });
  await mouse.up();
  expect(await visitor.page.evaluate(() => getSelection()?.toString().trim())).toBe("Select these words.");
  await release(server, "dragged");
  await rest();
});

test("a call opened while its input streams stays open and focused until it is done", async () => {
  await visitor.say("type");
  await button(/echo typed/).getByText("preparing").waitFor();
  await button(/echo typed/).press("Enter");
  expect(await stateOf(/echo typed/)).toBe("true");
  await release(server, "typed");
  await isNow("running", /echo typed/);
  expect(await stateOf(/echo typed/)).toBe("true");
  await release(server, "typed-result");
  await isNow("done", /echo typed/);
  expect(await stateOf(/echo typed/)).toBe("true");
  await visitor.sees("what typed printed");
  expect(await button(/echo typed/).evaluate((line) => line === document.activeElement)).toBe(true);
  await rest();
});

test("a thought opened while it streams stays open when it is complete, and after it was out of sight", async () => {
  await visitor.say("think");
  const thought = visitor.log.locator("details.thinking", { hasText: "A thought" });
  await thought.getByText("Thinking…").click();
  await thought.getByText("A thought", { exact: true }).waitFor();
  await release(server, "think");
  await thought.getByText("A thought to the end.").waitFor();
  expect(await thought.locator("summary").evaluate((line) => line === document.activeElement)).toBe(true);
  await release(server, "thought");
  await announced("long after 0");
  await thought.waitFor({ state: "detached" });
  await visitor.log.locator(".rows").press("Home");
  await thought.getByText("A thought to the end.").waitFor();
});

test("what was opened inside a subagent stays open", async () => {
  await visitor.say("delegate");
  await button(/echo nested/).click();
  await release(server, "nested");
  await isNow("running", /echo nested/);
  expect(await stateOf(/echo nested/)).toBe("true");
  await release(server, "nested-result");
  await isNow("done", /echo nested/);
  expect(await stateOf(/echo nested/)).toBe("true");
  const thought = visitor.log.locator("details.thinking", { hasText: "Nested thought" });
  await thought.getByText("Thinking…").click();
  await release(server, "nested-thought");
  await thought.getByText("Nested thought, complete.").waitFor();
  await release(server, "nested-done");
  await rest();
  expect(await stateOf(/echo nested/)).toBe("true");
  expect(await thought.getByText("Nested thought, complete.").isVisible()).toBe(true);
});

test("a call opened before its neighbours join it in one line stays in sight and focused", async () => {
  await visitor.say("look");
  await button(/first\.txt/).press("Enter");
  await visitor.sees("content of first");
  await release(server, "look");
  await visitor.log.locator("details.fold").last().waitFor();
  expect(await visitor.log.getByText("content of first").last().isVisible()).toBe(true);
  expect(await button(/^Read first\.txt/).evaluate((line) => line === document.activeElement)).toBe(true);
  await release(server, "looked");
  await rest();
});

test("a tool that runs at the API has one line while it streams and after", async () => {
  await visitor.say("search the web");
  const lines = visitor.log.locator(".call[data-tool=web_search]");
  await lines.waitFor();
  await release(server, "web");
  await lines.getByText("knots").waitFor();
  expect(await lines.count()).toBe(1);
  await release(server, "web-done");
  await rest();
});

test("a selection in streaming text survives its completion", async () => {
  await visitor.say("write");
  const text = visitor.log.getByText("These words were selected.", { exact: true }).first();
  await text.selectText();
  await release(server, "write");
  await visitor.log.getByText("More follows.", { exact: true }).first().waitFor();
  expect(await visitor.page.evaluate(() => getSelection()?.toString().trim())).toBe("These words were selected.");
  await release(server, "written");
  await rest();
});

test("a reader who scrolled up stays there when the streaming text is complete", async () => {
  await visitor.say("scroll");
  await visitor.sees("unread 39");
  await visitor.log.getByText("unread 39").hover();
  await visitor.page.mouse.wheel(0, -400);
  await expect.poll(toEnd).toBeGreaterThan(300);
  const before = await offset();
  await release(server, "scroll");
  await announced("unread 0");
  expect(await offset()).toBe(before);
  await release(server, "scrolled");
  await rest();
  expect(await offset()).toBe(before);
});
