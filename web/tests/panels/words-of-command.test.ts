// A command as a person types it.

import { expect, test } from "vitest";

import { wordsOfCommand } from "../../src/views/panels/words-of-command";

test("blanks part words, quotation marks hold them together", () => {
  expect(wordsOfCommand("npx -y  server")).toEqual(["npx", "-y", "server"]);
  expect(wordsOfCommand(`python3 "my server.py" --name='a b' c\\ d ""`)).toEqual(["python3", "my server.py", "--name=a b", "c d", ""]);
});

test("an unclosed quote is not a command", () => {
  expect(wordsOfCommand(`a "b`)).toBeNull();
  expect(wordsOfCommand("  ")).toBeNull();
});
