// What a server asks for: an address to open. Only what a browser opens as a page becomes a link.

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { NO_HELP, type Question } from "../../src/state/state";
import { Elicitation } from "../../src/views/prompts/elicitation";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function show(request: Record<string, unknown>) {
  const give = vi.fn();
  const question: Question = { id: "q", kind: "elicitation", hash: "", request, suggestions: [], agent: "", help: NO_HELP, time: 0 };
  render(<Elicitation question={question} give={give} sending={false} />);
  act(() => vi.advanceTimersByTime(500));
  return give;
}

test("an address is shown whole, opened in another tab, and then said to be done", () => {
  const give = show({ mode: "url", message: "Sign in", url: "https://example.org/in?a=1" });
  expect(screen.getByText("https://example.org/in?a=1")).toBeTruthy();
  const link = screen.getByRole<HTMLAnchorElement>("link", { name: "Open" });
  expect([link.href, link.target, link.rel]).toEqual(["https://example.org/in?a=1", "_blank", "noopener noreferrer"]);
  fireEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(give).toHaveBeenCalledWith({ behavior: "allow" });
});

test.each(["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "no address"])("%s is shown and not opened", (url) => {
  show({ mode: "url", message: "m", url });
  expect(screen.queryByRole("link")).toBeNull();
  expect(screen.getByText(url)).toBeTruthy();
});

test("a form may be declined", () => {
  const give = show({ message: "m", requested_schema: { properties: { a: { type: "string" } } } });
  fireEvent.click(screen.getByRole("button", { name: "Decline" }));
  expect(give).toHaveBeenCalledWith({ behavior: "deny" });
});
