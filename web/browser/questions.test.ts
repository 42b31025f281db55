// Questions of the model: one, several, own words, notes; and forms that are not sent half.

import { afterAll, beforeAll, test } from "vitest";

import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

const colour = { question: "Which colour?", header: "Colour", multiSelect: false, options: [{ label: "Red", description: "A warm one" }, { label: "Blue", description: "A cool one", preview: "#0000ff" }] };
const sizes = { question: "Which sizes?", header: "Sizes", multiSelect: true, options: [{ label: "Small", description: "S" }, { label: "Large", description: "L" }] };

const replies = [
  on("Ask one", words("One question."), use("AskUserQuestion", { questions: [colour] })),
  { when: { said: "One question.", tool_result: "Blue" }, blocks: [words("Blue it is.")] },
  on("Ask two", words("Two questions."), use("AskUserQuestion", { questions: [colour, sizes] })),
  { when: { said: "Two questions.", tool_result: "Small, Large" }, blocks: [words("Both sizes, in green.")] },
  on("Ask and be refused", words("A question without an answer."), use("AskUserQuestion", { questions: [colour] })),
  after("A question without an answer.", words("Then I decide.")),
];

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Nothing more.")] } } });
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, visitor));

async function asked(prompt: string, title: string) {
  await visitor.startSession();
  await visitor.say(prompt);
  const dialog = visitor.page.getByRole("alertdialog", { name: title });
  await dialog.waitFor();
  return dialog;
}

test("a question is answered by keys: the option, its preview, Enter", async () => {
  const dialog = await asked("Ask one", "Question");
  await dialog.getByText("A warm one").waitFor();
  await dialog.getByRole("radio", { name: "Red" }).press("ArrowDown");
  await dialog.getByText("#0000ff").waitFor();
  await visitor.page.keyboard.press("Enter");
  await visitor.sees("Blue it is.");
});

test("several questions name missing answers, and take free text, multiple choices and a note", async () => {
  const dialog = await asked("Ask two", "2 questions");
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog.getByText("Not answered yet: Colour, Sizes").waitFor();
  await dialog.getByRole("radio", { name: "Other" }).check();
  await dialog.getByRole("textbox", { name: "Your answer" }).fill("Green");
  await dialog.getByRole("button", { name: "Add a note" }).click();
  await dialog.getByRole("textbox", { name: "Note for Colour" }).fill("a dark one");
  await dialog.getByRole("tab", { name: "Sizes" }).click();
  await dialog.getByRole("checkbox", { name: "Small" }).check();
  await dialog.getByRole("checkbox", { name: "Large" }).check();
  await dialog.getByRole("button", { name: "Send" }).click();
  await visitor.sees("Both sizes, in green.");
  await visitor.log.getByRole("button", { name: /^Asked / }).last().click();
  await visitor.sees("Note: a dark one");
});

test("a question can be skipped", async () => {
  const dialog = await asked("Ask and be refused", "Question");
  await dialog.getByRole("button", { name: "Skip" }).click();
  await visitor.sees("Then I decide.");
});
