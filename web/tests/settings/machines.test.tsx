// The machines in the settings: what each does, what needs a look, what NATS keeps.

import { act, cleanup, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { ServerHello } from "../../src/protocol/messages";
import { useBridge } from "../../src/state/bridge";
import { useCluster } from "../../src/state/cluster";
import { forgetAll } from "../../src/state/forget";
import { Machines } from "../../src/views/settings/machines";
import { node, tellOf, told } from "../state/sample-cluster";

let asked = 0;
let answer = {};

beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  vi.stubGlobal("fetch", () => ((asked += 1), Promise.resolve(new Response(JSON.stringify(answer)))));
  useBridge.setState({ hello: { type: "hello", protocol: 1, version: "1", device: "d", scopes: ["view"], commands: [], machine: "gateway-1" } satisfies ServerHello });
});
afterEach(() => {
  cleanup();
  forgetAll();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function show(...given: Parameters<typeof told>): Promise<void> {
  answer = told(...given);
  tellOf(...given);
  await act(async () => void render(<Machines />));
}

const cells = (name: string) => within(screen.getByRole("row", { name: new RegExp(`^${name}`) })).getAllByRole("cell").map((one) => one.textContent);

test("with one machine nothing is shown or requested", () => {
  const { container } = render(<Machines />);
  expect([container.textContent, asked]).toEqual(["", 0]);
});

test("each machine shows role, sessions, room, labels, lag and last heartbeat", async () => {
  await show([
    node("gateway-1", { address: "https://gateway-1", runs: false, roots: [], age: 0.4 }),
    node("worker-1", { sessions: 3, labels: ["gpu", "linux"], behind: 12, age: 2.2 }),
    node("worker-2", { sessions: 8, moves: false, free_memory: 0 }),
    node("worker-3", { free_memory: 1024, age: 200 }),
  ]);
  expect(cells("gateway-1 ?this page")).toEqual(["page", "–", "4 GiB", "none", "–", "now", ""]);
  expect(cells("worker-1")).toEqual(["sessionsmovable", "3 of 8", "4 GiB", "gpu, linux", "12 events", "2 s ago", "/srv"]);
  expect(cells("worker-2")).toEqual(["sessionspinned", "8 of 8full", "–", "none", "–", "1 s ago", "/srv"]);
  expect(cells("worker-3")).toEqual(["sessionsmovable", "0 of 8", "1 KiBtoo little for another session", "none", "–", "3 min ago", "/srv"]);
  expect(screen.getByText("4 machines, with 11 sessions running.")).toBeTruthy();
});

test("streams of NATS show size, leader and slowest replica", async () => {
  await show([node("a")], { streams: [{ name: "handrail-events", messages: 120_000, bytes: 5 * 1024 ** 2, replicas: 3, leader: "nats-2", behind: 7 }, { name: "KV_nodes", messages: 2, bytes: 100, replicas: 3, leader: "", behind: 0 }] });
  expect(cells("handrail-events")).toEqual(["120,000", "5 MiB", "3", "nats-2", "7 behind"]);
  expect(cells("KV_nodes")).toEqual(["2", "100 B", "3", "none", "up to date"]);
});

test("warnings are above the table; while NATS is offline the data is marked as old", async () => {
  await show([node("a")], { up: false, alarms: ["handrail-events has no leader"] });
  expect(screen.getByRole("alert").textContent).toBe("handrail-events has no leader");
  expect(screen.getByRole("status").textContent).toBe("Last known state before NATS was lost.");
});

test("it is refreshed while it is visible, and not afterwards", async () => {
  await show([node("a")]);
  expect(asked).toBe(1);
  answer = told([node("a"), node("b")]);
  await act(() => vi.advanceTimersByTimeAsync(3000));
  expect(screen.getAllByRole("rowheader").map((one) => one.textContent)).toEqual(["aagent 1.0", "bagent 1.0"]);
  cleanup();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(asked).toBe(2);
});

test("if it cannot be read, the last data is shown with the reason", async () => {
  await show([node("a")]);
  act(() => useCluster.setState({ problem: "the server cannot be reached" }));
  expect(screen.getByRole("status").textContent).toContain("the server cannot be reached");
  expect(screen.getAllByRole("rowheader")).toHaveLength(1);
});
