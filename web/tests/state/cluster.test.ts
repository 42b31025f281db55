// The machines as read from the server: several, one, or unknown.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { ServerHello } from "../../src/protocol/messages";
import { useBridge } from "../../src/state/bridge";
import { clusterOf, readCluster, runnerOf, useCluster, watchCluster } from "../../src/state/cluster";
import { forgetAll } from "../../src/state/forget";
import { session } from "../sessions/sample";
import { node, tellOf, told } from "./sample-cluster";

const hello: ServerHello = { type: "hello", protocol: 1, version: "1", device: "d", scopes: ["view"], commands: [], machine: "gateway-1" };
const asked: string[] = [];
let answer: () => Promise<Response>;

const says = (status: number, body: unknown) => () => Promise.resolve(new Response(JSON.stringify(body), { status }));
const known = () => useCluster.getState();

beforeEach(() => {
  asked.length = 0;
  vi.stubGlobal("fetch", (path: string) => (asked.push(path), answer()));
  useBridge.setState({ hello });
});
afterEach(() => {
  forgetAll();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("machines are listed with their roles, sorted by name", () => {
  const { machines, me, up } = clusterOf(told([node("worker-10"), node("worker-2", { labels: ["gpu"], behind: 3 }), node("gateway-1", { runs: false, address: "https://a" })]));
  expect([me, up, machines.map((one) => one.name)]).toEqual(["gateway-1", true, ["gateway-1", "worker-2", "worker-10"]]);
  expect(machines[1]).toMatchObject({ labels: ["gpu"], behind: 3, runs: true, mostSessions: 8 });
});

test("malformed values are ignored", () => {
  expect(clusterOf({ me: 5, up: "yes", nodes: [null, { name: "" }, { name: "a", labels: "x", sessions: "many" }], streams: "none", alarms: [1, "one"] })).toEqual({
    me: "",
    up: true,
    machines: [expect.objectContaining({ name: "a", labels: [], sessions: 0 })],
    streams: [],
    alarms: ["one"],
  });
});

test("a session of a single machine names none", () => {
  expect([runnerOf(session({ id: "a" })), runnerOf(session({ id: "a", runner: "worker-1" }))]).toEqual(["", "worker-1"]);
});

test("a server that knows of no cluster has one machine", async () => {
  tellOf([node("worker-1")]);
  answer = says(404, { error: { code: "not_found", message: "there is one machine" } });
  await readCluster();
  expect(known()).toEqual({ cluster: null, problem: "" });
});

test("if it cannot be read, the last data and the reason are kept", async () => {
  answer = says(200, told([node("worker-1")]));
  await readCluster();
  answer = says(503, { error: { code: "cluster_away", message: "NATS does not answer" } });
  await readCluster();
  expect([known().cluster?.machines.length, known().problem]).toEqual([1, "NATS does not answer"]);
  answer = says(200, told([node("worker-1")]));
  await readCluster();
  expect(known().problem).toBe("");
});

test("asked for twice at once, it is read once", async () => {
  answer = says(200, told([node("worker-1")]));
  await Promise.all([readCluster(), readCluster()]);
  expect(asked).toEqual(["/api/cluster"]);
});

test("a response after the logout is dropped", async () => {
  answer = says(200, told([node("worker-1")]));
  const reading = readCluster();
  forgetAll();
  await reading;
  expect(known().cluster).toBeNull();
});

test("it is read on hello and when a machine did not answer, and regularly only with several machines", async () => {
  vi.useFakeTimers();
  answer = says(404, {});
  useBridge.setState({ hello: null });
  watchCluster();
  useBridge.setState({ hello });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(1);
  answer = says(200, told([node("worker-1")]));
  useBridge.setState({ unanswered: 1 });
  await vi.advanceTimersByTimeAsync(0);
  expect(known().cluster?.me).toBe("gateway-1");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(asked).toHaveLength(4);
});
