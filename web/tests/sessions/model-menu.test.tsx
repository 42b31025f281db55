// The model menu of a session whose own process has not told its models yet, such as a new fork.

import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { useKnown } from "../../src/state/about";
import { useBridge } from "../../src/state/bridge";
import { Followed } from "../../src/state/followed";
import { forgetAll } from "../../src/state/forget";
import { ModelMenu } from "../../src/views/status-bar/model-menu";
import { session } from "./sample";

const TOLD = { models: [{ value: "opus", resolvedModel: "claude-opus-5-5", displayName: "Opus 5.5" }] };

beforeEach(() => vi.stubGlobal("fetch", () => new Promise(() => undefined)));
afterEach(() => {
  cleanup();
  forgetAll();
  vi.unstubAllGlobals();
});

function show(fork: Partial<ReturnType<typeof session>>): void {
  const sessions = [session({ id: "origin" }), session({ id: "fork", model: "claude-opus-5-5", ...fork })];
  useBridge.setState({ sessions: new Map(sessions.map((one) => [one.id, one])) });
  useKnown.setState({ about: { origin: TOLD } });
  render(<ModelMenu followed={new Followed("fork")} />);
}

test("a new fork shows the model's name as its origin does", () => {
  show({});
  expect(screen.getByRole("button", { name: "Model: Opus 5.5" })).toBeTruthy();
});

test("a session of another agent shows the model's id", () => {
  show({ agent: "gemini" });
  expect(screen.getByRole("button", { name: "Model: claude-opus-5-5" })).toBeTruthy();
});
