// A project and a script that bring the page into every state there is to look at: for screenshots, and for the checks of accessibility.

import { SHOP } from "./mcp-servers";
import { after, on, use, words as text } from "./replies";
import type { Reply, Settings } from "./server";

const thinking = (words: string) => ({ type: "thinking", thinking: words });

export const APP = `"""Greets people by name."""

import sys


def greet(name: str) -> str:
    return "Hello, " + name


def main() -> None:
    for name in sys.argv[1:]:
        print(greet(name))


if __name__ == "__main__":
    main()
`;

const ANSWER = `The greeting is built in \`greet\`. Three things stand out:

1. It joins strings with \`+\`; an f-string reads better.
2. There is **no test**.
3. An empty name gives "Hello, ".

| case | today | wanted |
|---|---|---|
| \`greet("Ada")\` | Hello, Ada | Hello, Ada! |
| \`greet("")\` | Hello, | Hello! |

\`\`\`python
def greet(name: str) -> str:
    return f"Hello, {name}!" if name else "Hello!"
\`\`\`

> The change is small: shall I make it?`;

const TESTS = String.raw`printf '\033[32m.\033[0m\033[32m.\033[0m\033[31mF\033[0m\n\033[1mFAILED\033[0m test_app.py::test_empty\n\033[31m1 failed\033[0m, \033[32m2 passed\033[0m in 0.03s\n'; exit 1`;

const QUESTIONS = [
  {
    question: "What should an empty name give?",
    header: "Empty name",
    multiSelect: false,
    options: [
      { label: "Hello!", description: "A greeting without a name" },
      { label: "An error", description: "ValueError: a name is needed" },
    ],
  },
  {
    question: "Which of these should I add?",
    header: "Extras",
    multiSelect: true,
    options: [
      { label: "Tests", description: "pytest, one file" },
      { label: "Type hints", description: "for main as well" },
      { label: "A README", description: "three sentences" },
    ],
  },
];

const PLAN = `## Plan

1. Rewrite \`greet\` with an f-string.
2. Add \`test_app.py\` with three cases.
3. Run the tests.

Nothing else is touched.`;

const WIDE = `A wide table, a long line and another script:

| name | path | owner | changed | size | kind | remarks |
|---|---|---|---|---|---|---|
| greeter-with-a-rather-long-name | src/packages/greeter/internal/implementation.py | somebody@example.com | yesterday | 12,345 | module | nothing to remark, but at some length |

\`https://example.com/${"a-very-long-address/".repeat(12)}\`

مرحبا بالعالم: هذه جملة بالعربية مع \`code\` في وسطها.

שלום עולם, and back to English.`;

const THEIRS = { hooks: { Stop: [{ hooks: [{ type: "command", command: "./notify.sh --all" }] }] }, env: { SHOP: "open" }, permissions: { allow: ["Bash(make:*)"] } };

const replies: Reply[] = [
  on("Look at the project", thinking("First read the code, then suggest improvements."), text("I look at the files first."), use("Bash", { command: "ls -la", description: "List the project" }), use("Read", { file_path: "app.py" }), use("Read", { file_path: "README.md" }), use("Read", { file_path: "notes.ipynb" })),
  after("I look at the files first.", text(ANSWER)),
  on("Change the greeting", text("I change one line."), use("Edit", { file_path: "app.py", old_string: '    return "Hello, " + name', new_string: '    return f"Hello, {name}!" if name else "Hello!"' })),
  after("I change one line.", text("Done: `greet` now uses an f-string.")),
  on("Add a test", text("A new file."), use("Write", { file_path: "test_app.py", content: 'from app import greet\n\n\ndef test_name():\n    assert greet("Ada") == "Hello, Ada!"\n\n\ndef test_empty():\n    assert greet("") == "Hello!"\n' })),
  after("A new file.", text("The test is there.")),
  on("Run the tests", text("I run them."), use("Bash", { command: TESTS, description: "Run the tests" })),
  after("I run them.", text("One test fails.")),
  on("Delete the build", text("That needs your permission."), use("Bash", { command: "rm -rf build/ && npm run build -- --mode production", description: "Build from nothing" })),
  after("That needs your permission.", text("As you wish.")),
  on("Ask me", text("Two questions first."), use("AskUserQuestion", { questions: QUESTIONS })),
  after("Two questions first.", text("Thank you, I know enough.")),
  on("Make a plan", use("EnterPlanMode", {})),
  { when: { after: "EnterPlanMode" }, times: 1, blocks: [text("Here is what I would do."), use("ExitPlanMode", { plan: PLAN })] },
  after("Here is what I would do.", text("Then I begin.")),
  on("Keep a list", text("Three tasks."), use("TaskCreate", { subject: "Rewrite greet", description: "f-string", activeForm: "Rewriting greet" }), use("TaskCreate", { subject: "Write tests", description: "three cases", activeForm: "Writing tests" }), use("TaskCreate", { subject: "Release", description: "tag it", activeForm: "Releasing" })),
  after("Three tasks.", text("They depend on each other."), use("TaskUpdate", { taskId: "1", status: "completed" }), use("TaskUpdate", { taskId: "2", status: "in_progress" }), use("TaskUpdate", { taskId: "3", addBlockedBy: ["2"] })),
  after("They depend on each other.", text("The list is kept.")),
  on("Send a subagent", text("Somebody else looks."), use("Task|Agent", { description: "Look for more", prompt: "You look for more.", subagent_type: "general-purpose", run_in_background: false })),
  on("You look for more.", text("I read one file."), use("Read", { file_path: "app.py" })),
  after("I read one file.", text("There is nothing more.")),
  after("Somebody else looks.", text("The subagent found nothing.")),
  on("Edit the notebook", text("One cell."), use("NotebookEdit", { notebook_path: "notes.ipynb", cell_id: "sum", new_source: "print(2 + 2)\n" })),
  after("One cell.", text("The cell is changed.")),
  { when: { prompt: "Be slow" }, times: 2, blocks: [text("This answer takes its time. ".repeat(60))], delay: 0.25 },
  on("Something wide", text(WIDE), use("Bash", { command: `ls ${"a-file-with-a-long-name.txt ".repeat(20)}`, description: "Look for files with long names" })),
  after("A wide table", text("That was wide.")),
  on("Look at this", text("A picture.")),
  on("Order it", text("I order it."), use("mcp__shop__order", {})),
  after("I order it.", text("It is ordered.")),
  on("Make it polite", text("One word more."), use("Read", { file_path: "README.md" })),
  after("One word more.", text("Now the sentence."), use("Edit", { file_path: "README.md", old_string: "Greets people", new_string: "Politely greets people" })),
  after("Now the sentence.", text("It is polite now.")),
  { when: { prompt: "Fail once" }, times: 1, error: { status: 529, message: "Overloaded" } },
  on("Fail once", text("It worked at the second try.")),
];

const NOTEBOOK = { cells: [{ cell_type: "markdown", id: "title", metadata: {}, source: ["# Sums"] }, { cell_type: "code", id: "sum", metadata: {}, execution_count: 1, outputs: [{ output_type: "stream", name: "stdout", text: ["2\n"] }], source: ["print(1 + 1)"] }], metadata: {}, nbformat: 4, nbformat_minor: 5 };

/** The model is one that has the tools for a list of tasks. */
export const SHOWCASE: Settings = {
  env: { HANDRAIL_MODEL: "claude-sonnet-4-5" },
  script: { replies, afterwards: { blocks: [text("That was all that this script has to say.")] } },
  files: { "app.py": APP, "README.md": "# Greeter\n\nGreets people by name.\n", "notes.ipynb": JSON.stringify(NOTEBOOK, null, 1), "build/old.js": "old", "shop.py": SHOP, "theirs/.claude/settings.json": JSON.stringify(THEIRS, null, 2) },
};
