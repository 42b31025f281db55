// The agent of a session: in the list and the header, and chosen for a new session.

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { ServerHello } from "../../src/protocol/messages";
import { agentOf, agentsOf, useAgentStore } from "../../src/state/agents";
import { useBridge } from "../../src/state/bridge";
import { offeredOf } from "../../src/state/choices";
import { forgetAll } from "../../src/state/forget";
import { AgentField, AgentMenu } from "../../src/views/sessions/agent-choice";
import { AgentChip } from "../../src/views/sessions/agent-mark";
import { session } from "./sample";

const hello: ServerHello = { type: "hello", protocol: 1, version: "1", device: "d", scopes: ["view", "prompt"], commands: [], machine: "" };
const TOLD = { agents: [{ name: "gemini" }, { name: "goose", machines: ["worker-1"] }, { title: "no name" }, 5] };
const ASKED = { agents: [{ name: "gemini", asked: true, title: "Gemini CLI", version: "1.0", images: true, resume: false, fork: false }] };

let asked: string[] = [];

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", async (address: string) => {
    asked.push(address);
    return new Response(JSON.stringify(address.includes("ask=") ? ASKED : TOLD), { headers: { "content-type": "application/json" } });
  });
  useBridge.setState({ hello, link: { state: "open", retryAt: 0, reason: "" }, cli: { kind: "claude", name: "claude 2.1", version: "2.1", model: "", demo: false } });
});
afterEach(() => {
  cleanup();
  forgetAll();
  vi.unstubAllGlobals();
});

function Field({ Choice = AgentField }: { Choice?: typeof AgentField }) {
  const [agent, setAgent] = useState("");
  return <Choice agent={agent} choose={setAgent} />;
}

test("what the server tells of agents may have any shape", () => {
  expect(agentsOf(TOLD).map(({ name, title, machines }) => [name, title, machines])).toEqual([
    ["gemini", "gemini", []],
    ["goose", "goose", ["worker-1"]],
  ]);
  expect(agentsOf({})).toEqual([]);
});

test("a session names its agent, with disguised characters spelled out; one of the server's CLI names none", () => {
  const { container, rerender } = render(<AgentChip session={session({ id: "a", agent: "gemini" })} />);
  expect(container.textContent).toBe("Agent: gemini");
  rerender(<AgentChip session={session({ id: "a", agent: "gem\u202Eini" })} />);
  expect(container.textContent).toContain("gem⟨U+202E⟩ini");
  rerender(<AgentChip session={session({ id: "a", agent: "" })} />);
  expect(container.textContent).toBe("");
  expect(agentOf(undefined)).toBe("");
});

test("a chosen agent is asked once what it can do", async () => {
  render(<Field />);
  const field = await screen.findByRole("combobox", { name: /^Agent/ });
  expect(screen.getByRole("option", { name: "goose · on worker-1" })).toBeTruthy();
  fireEvent.change(field, { target: { value: "gemini" } });
  await screen.findByText("Supports images. Cannot resume a session after its process has ended");
  expect(screen.getByRole("option", { name: "Gemini CLI" })).toBeTruthy();
  fireEvent.change(field, { target: { value: "" } });
  fireEvent.change(field, { target: { value: "gemini" } });
  await screen.findByText("Supports images. Cannot resume a session after its process has ended");
  expect(asked.filter((one) => one.includes("ask=")).length).toBe(1);
});

test("the menu offers the server's own CLI first", async () => {
  render(<Field Choice={AgentMenu} />);
  fireEvent.click(await screen.findByRole("button", { name: "Agent: claude 2.1" }));
  fireEvent.click(screen.getByRole("menuitemradio", { name: /^gemini/ }));
  await screen.findByRole("button", { name: "Agent: Gemini CLI" });
});

test("without agents there is nothing to choose", async () => {
  vi.stubGlobal("fetch", async () => new Response('{"agents":[]}', { headers: { "content-type": "application/json" } }));
  const { container } = render(<Field />);
  await new Promise((done) => void setTimeout(done));
  expect(useAgentStore.getState().agents).toEqual([]);
  expect(container.textContent).toBe("");
});

test("an agent that cannot be asked says why", async () => {
  useAgentStore.setState({ agents: agentsOf({ agents: [{ name: "gemini", problem: "gemini is not signed in" }] }) });
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  render(<AgentField agent="gemini" choose={() => undefined} />);
  expect(screen.getByText("Not available: gemini is not signed in")).toBeTruthy();
});

test("models of other agents are not offered", () => {
  const told = { own: { models: [{ value: "opus" }] }, other: { models: [{ value: "gemini-pro" }] } };
  expect(offeredOf(told, "own", ["other"]).models.map((one) => one.value)).toEqual(["opus"]);
  expect(offeredOf(told, "", ["other", "own"]).models).toEqual([]);
});
