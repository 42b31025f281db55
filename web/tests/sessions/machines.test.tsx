// The machine of a session: in the list, in the header, when it is lost, and in a new session.

import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { ServerHello } from "../../src/protocol/messages";
import { useBridge } from "../../src/state/bridge";
import { forgetAll } from "../../src/state/forget";
import { ClusterBanner } from "../../src/views/cluster-banner";
import { MachineChip } from "../../src/views/sessions/machine-chip";
import { Standings } from "../../src/views/sessions/standings";
import { StateMark } from "../../src/views/sessions/state-mark";
import { ANYWHERE, type Where } from "../../src/views/sessions/where";
import { WhereField } from "../../src/views/sessions/where-field";
import { node, tellOf } from "../state/sample-cluster";
import { session } from "./sample";

const hello: ServerHello = { type: "hello", protocol: 1, version: "1", device: "d", scopes: ["view", "prompt"], commands: [], machine: "gateway-1" };

beforeEach(() => {
  vi.stubGlobal("fetch", () => new Promise(() => undefined)); // what is known holds
  useBridge.setState({ hello, link: { state: "open", retryAt: 0, reason: "" } });
});
afterEach(() => {
  cleanup();
  forgetAll();
  vi.unstubAllGlobals();
});

test("the machine is named, with disguised characters spelled out; a single machine is not named", () => {
  const { container, rerender } = render(<MachineChip session={session({ id: "a", state: "running", runner: "worker-2" })} />);
  expect(container.textContent).toBe("Runs on worker-2");
  rerender(<MachineChip session={session({ id: "a", state: "hibernated", runner: "work\u202Eer" })} />);
  expect(container.textContent).toBe("Ran last on work⟨U+202E⟩er");
  rerender(<MachineChip session={session({ id: "a" })} />);
  expect(container.textContent).toBe("");
});

test("a session of a lost machine has its own label and icon, also with an open question", () => {
  const { container } = render(<StateMark session={session({ id: "a", state: "interrupted", questions: 1 })} />);
  expect(container.textContent).toBe("◇interrupted");
  expect(container.querySelector(".state-mark.interrupted")).toBeTruthy();
});

test("it names the lost machine, says that nothing is rerun, and offers to resume", () => {
  tellOf([node("worker-1", { roots: ["/home"] })]);
  render(<Standings session={session({ id: "a", state: "interrupted", runner: "worker-2", trusted: false })} />);
  const alert = screen.getByRole("alert");
  expect(alert.textContent).toContain("worker-2 is lost. The running turn was not finished and is not retried automatically.");
  expect(alert.textContent).not.toContain("No other connected machine");
  expect(within(alert).getByRole("button", { name: "Resume on another machine" })).toBeTruthy();
  expect(screen.queryByText(/Folder not trusted/)).toBeNull();
});

test("without a machine for its folder it says so; a view-only device is offered nothing", () => {
  useBridge.setState({ hello: { ...hello, scopes: ["view"] } });
  tellOf([node("worker-1"), node("gateway-1", { runs: false, roots: ["/"] })]);
  render(<Standings session={session({ id: "a", state: "interrupted", runner: "worker-2" })} />);
  expect(screen.getByRole("alert").textContent).toContain("No other connected machine allows sessions in this folder.");
  expect(screen.queryByRole("button")).toBeNull();
});

test("while NATS is offline one banner says what still works", () => {
  tellOf([node("gateway-1")]);
  const { rerender } = render(<ClusterBanner />);
  expect(screen.queryByRole("status")).toBeNull();
  tellOf([node("gateway-1")], { up: false });
  rerender(<ClusterBanner />);
  expect(screen.getByRole("status").textContent).toContain("Sessions on gateway-1 keep running");
  tellOf([node("gateway-1", { runs: false }), node("worker-1")], { up: false });
  rerender(<ClusterBanner />);
  expect(screen.getByRole("status").textContent).toBe("NATS does not respond. Sessions show their last known state and cannot be controlled until it reconnects.");
  useBridge.setState({ link: { state: "lost", retryAt: 0, reason: "" } });
  rerender(<ClusterBanner />);
  expect(screen.queryByRole("status")).toBeNull();
});

function Choosing({ chosen }: { chosen(where: Where): void }) {
  const [where, setWhere] = useState(ANYWHERE);
  return <WhereField folder="/srv/shop" where={where} change={(next) => (chosen(next), setWhere(next))} />;
}

test("a single machine offers no choice of machines", () => {
  const { container } = render(<Choosing chosen={() => undefined} />);
  expect(container.textContent).toBe("");
});

test("a machine is chosen by name or labels, and the effect is shown", () => {
  tellOf([node("worker-1", { labels: ["gpu"] }), node("worker-2", { sessions: 8 })]);
  const chosen = vi.fn<(where: Where) => void>();
  render(<Choosing chosen={chosen} />);
  const field = screen.getByRole<HTMLSelectElement>("combobox", { name: "Run on" });
  expect([...field.options].map((one) => [one.text, one.disabled])).toEqual([
    ["Any machine with this folder", false],
    ["Any machine with labels", false],
    ["worker-1", false],
    ["worker-2: full", true],
  ]);
  expect(screen.getByRole("status").textContent).toBe("Matches worker-1.");
  fireEvent.change(field, { target: { value: "machine:worker-1" } });
  expect(chosen).toHaveBeenLastCalledWith({ kind: "machine", machine: "worker-1", labels: [] });
  fireEvent.change(field, { target: { value: "labels" } });
  fireEvent.click(within(screen.getByRole("group", { name: "Labels" })).getByRole("checkbox", { name: "gpu" }));
  expect(chosen).toHaveBeenLastCalledWith({ kind: "labels", machine: "", labels: ["gpu"] });
});
