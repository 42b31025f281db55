// A running call: how long it has been running, and what is known before its output arrives.

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { CallView } from "../../src/views/conversation/call";
import { callOf } from "../tools/calls";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => (cleanup(), void vi.useRealTimers()));

const running = (fields = {}) => ({ ...callOf("Bash", { command: "make" }), status: "running" as const, started: 1_000_000, ...fields });

test("the time counts up from two seconds on, without a report of the CLI", () => {
  render(<CallView call={running()} />);
  act(() => void vi.advanceTimersByTime(1000));
  expect(screen.getByRole("button").textContent).not.toContain(" s");
  act(() => void vi.advanceTimersByTime(11_000));
  expect(screen.getByRole("button").textContent).toContain("12 s");
});

test("the time of a person and of a slow browser clock do not shorten what the CLI reports", () => {
  render(<CallView call={running({ started: 1_030_000, elapsed: 30 })} />);
  expect(screen.getByRole("button").textContent).toContain("30 s");
});

test("before its first output a command says since when it runs", () => {
  const { rerender } = render(<CallView call={running()} />);
  fireEvent.click(screen.getByRole("button"));
  screen.getByText(/^Running since \d\d:\d\d\. No output yet/);
  rerender(<CallView call={running({ printed: "compiling" })} />);
  screen.getByText("compiling");
  expect(screen.queryByText(/No output yet/)).toBeNull();
});
