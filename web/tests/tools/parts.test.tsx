// Results are shown as what they are: JSON in its structure, tasks and cells in words.

import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import { strings } from "../../src/strings";
import { asStructure } from "../../src/tools/parts";
import { toolOf } from "../../src/tools/registry";
import { callOf } from "./calls";

afterEach(cleanup);

test.each([
  ['{"a":1}', { a: 1 }],
  [" [1, 2]\n", [1, 2]],
  ['{"a":', undefined],
  ["plain words", undefined],
  ["42", undefined],
  [`[${"1,".repeat(300_000)}1]`, undefined],
])("%.20s is read as a structure only if it is one", (said, found) => {
  expect(asStructure(said)).toEqual(found);
});

const body = (name: string, input: Record<string, unknown>, fields: Parameters<typeof callOf>[2]) => {
  const { Body } = toolOf(name);
  return render(<Body call={callOf(name, input, fields)} />).container.textContent ?? "";
};

test("the JSON of an MCP tool is formatted", () => {
  const shown = body("mcp__db__query", {}, { result: [{ type: "text", text: '{"rows":[{"id":1}]}' }] });
  expect(shown).toContain('"rows": [');
});

test("an updated task is described in words", () => {
  const shown = body("TaskUpdate", { taskId: "3", status: "in_progress", addBlockedBy: ["1", "2"], activeForm: "Testing" }, {});
  expect(shown).toContain("task#3");
  expect(shown).toContain("statusin progress");
  expect(shown).toContain("waits for#1, #2");
  expect(shown).toContain("status textTesting");
  expect(shown).not.toContain("taskId");
});

test("a cell whose kind is not known yet is not called code", () => {
  const Preview = toolOf("NotebookEdit").Preview!;
  render(<Preview input={{ notebook_path: "n.ipynb", cell_id: "c1", new_source: "x" }} call={undefined} />);
  expect(screen.queryByText(/code/)).toBeNull();
  expect(strings.tools.notebook.cell("raw")).toBe("raw cell");
});
