// Before something is allowed nothing of it is hidden, also where a field is not of the kind that it should be.

import { render } from "@testing-library/react";
import { expect, test } from "vitest";

import type { Json } from "../../src/protocol/wire";
import { toolOf } from "../../src/tools/registry";

function shown(name: string, input: Json): string {
  const Preview = toolOf(name).Preview!;
  return render(<Preview input={input} call={undefined} />).container.textContent ?? "";
}

test.each<[string, Json, string]>([
  ["Bash", { command: ["rm", "-rf"] }, "-rf"],
  ["Bash", { command: "ls", dangerouslyDisableSandbox: "true" }, "dangerouslyDisableSandbox"],
  ["Bash", { command: "ls", dangerouslyDisableSandbox: true }, "sandbox"],
  ["Bash", { command: "ls", anything: "hidden-field" }, "hidden-field"],
  ["Write", { file_path: { path: "/etc/shadow" }, content: "x" }, "/etc/shadow"],
  ["Edit", { file_path: "a", old_string: "b", new_string: ["c-evil"] }, "c-evil"],
  ["MultiEdit", { file_path: "a", edits: [{ old_string: "b", new_string: "c", replace_all: true }] }, "replace_all"],
  ["MultiEdit", { file_path: "a", edits: [{ old_string: "b", new_string: "c" }, "no-object"] }, "no-object"],
  ["WebFetch", { url: ["https://evil.example"] }, "evil.example"],
])("%s %j shows %s", (name, input, words) => {
  expect(shown(name, input)).toContain(words);
});

test("edits that say no more than the diff are shown once", () => {
  expect(shown("MultiEdit", { file_path: "a", edits: [{ old_string: "b", new_string: "c", replace_all: false }] })).not.toContain("old_string");
});
