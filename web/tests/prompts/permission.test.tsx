// A permission, as it is answered. The engine's words, what is remembered, and when Yes may be said.

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { NO_HELP, type Question } from "../../src/state/state";
import { Permission } from "../../src/views/prompts/permission";

const question: Question = {
  id: "q1",
  kind: "permission",
  hash: "h",
  request: { tool_name: "SomeTool", input: { command: "npm test", times: 2 }, decision_reason: "no rule allows it", blocked_path: "/etc/x" },
  suggestions: [
    { index: 0, words: "every command that begins with `npm test`", destinations: ["session", "localSettings"], suggested: "session" },
    { index: 1, words: "everything", destinations: ["session"], suggested: "session" },
  ],
  agent: "", help: NO_HELP,
  time: 0,
};

const give = vi.fn();
beforeEach(() => {
  vi.useFakeTimers();
  give.mockReset();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function show() {
  render(
    <section role="alertdialog" aria-label="x" tabIndex={-1}>
      <Permission question={question} give={give} sending={false} />
    </section>,
  );
  return screen.getByRole("alertdialog");
}

const wait = () => act(() => vi.advanceTimersByTime(500));

test("Yes is shut for half a second; No is not", () => {
  const dialog = show();
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Allow once" });
  expect(button.disabled).toBe(true);
  fireEvent.keyDown(dialog, { key: "y" });
  expect(give).not.toHaveBeenCalled();
  fireEvent.keyDown(dialog, { key: "n" });
  expect(give).toHaveBeenCalledWith({ behavior: "deny" });
  wait();
  expect(button.disabled).toBe(false);
});

test("y allows once, s for the session, with the first suggestion and no other", () => {
  const dialog = show();
  wait();
  fireEvent.keyDown(dialog, { key: "y" });
  expect(give).toHaveBeenLastCalledWith({ behavior: "allow", updates: [] });
  wait();
  fireEvent.keyDown(dialog, { key: "s" });
  expect(give).toHaveBeenLastCalledWith({ behavior: "allow", updates: [{ index: 0, destination: "session" }] });
});

test("a key that is held down, or typed in a field, answers nothing", () => {
  const dialog = show();
  wait();
  fireEvent.keyDown(dialog, { key: "y", repeat: true });
  fireEvent.keyDown(dialog, { key: "y", ctrlKey: true });
  fireEvent.keyDown(dialog, { key: "r" });
  fireEvent.keyDown(screen.getByRole("textbox"), { key: "y" });
  expect(give).not.toHaveBeenCalled();
});

test("a y typed in the middle of a word allows nothing", () => {
  const dialog = show();
  wait();
  for (const key of "okay, say yes") fireEvent.keyDown(dialog, { key: key === "e" ? "o" : key });
  expect(give).not.toHaveBeenCalled();
  wait();
  fireEvent.keyDown(dialog, { key: "y" });
  expect(give).toHaveBeenCalledTimes(1);
});

test("ticked suggestions are remembered in their scope", () => {
  show();
  wait();
  fireEvent.click(screen.getByRole("button", { name: "Don’t ask again…" }));
  fireEvent.click(screen.getByRole("checkbox", { name: /npm test/ }));
  fireEvent.change(screen.getByRole("combobox", { name: /npm test/ }), { target: { value: "localSettings" } });
  fireEvent.click(screen.getByRole("button", { name: "Allow and don’t ask again" }));
  expect(give).toHaveBeenCalledWith({ behavior: "allow", updates: [{ index: 0, destination: "localSettings" }] });
});

test("the reason and the path are shown", () => {
  show();
  expect(screen.getByText("no rule allows it")).toBeTruthy();
  expect(screen.getByText("/etc/x")).toBeTruthy();
});

test("a changed input is sent; invalid JSON cannot be", () => {
  const dialog = show();
  fireEvent.keyDown(dialog, { key: "e" });
  wait();
  fireEvent.change(screen.getByRole("textbox", { name: "times (as JSON)" }), { target: { value: "three" } });
  expect(screen.getByText("times is not valid JSON")).toBeTruthy();
  fireEvent.change(screen.getByRole("textbox", { name: "times (as JSON)" }), { target: { value: "3" } });
  fireEvent.click(screen.getByRole("button", { name: "Allow with my changes" }));
  expect(give).toHaveBeenCalledWith({ behavior: "allow", updates: [], input: { command: "npm test", times: 3 } });
});
