import { expect, test } from "vitest";

import type { Json } from "../../src/protocol/wire";
import { ANYWHERE, fitting, hasFolder, hasRoom, labelsOf, outcome, places, rootsOf, whereFields } from "../../src/views/sessions/where";
import { cluster, node } from "../state/sample-cluster";

const { machines } = cluster([
  node("gateway-1", { runs: false, roots: ["/"], labels: ["page"] }),
  node("worker-1", { labels: ["gpu", "linux"] }),
  node("worker-2", { labels: ["linux"], sessions: 8 }),
  node("worker-3", { roots: ["/home/ann/"], labels: ["linux"] }),
]);
const room = (fields: Json) => hasRoom(cluster([node("a", fields)]).machines[0]!);
const labelled = (...labels: string[]) => fitting(machines, "/srv/shop", { ...ANYWHERE, kind: "labels", labels }).map((one) => one.name);

test("a folder belongs to the root above it, not to a root with a similar name", () => {
  const [, , , ann] = machines;
  expect(["/home/ann", "/home/ann/shop/", "/home/anna", "/home", ""].map((folder) => hasFolder(ann!, folder))).toEqual([true, true, false, false, false]);
  expect(hasFolder(machines[0]!, "/anything")).toBe(true);
});

test("a machine has room if sessions and memory are left; an unset limit does not count", () => {
  expect([room({ sessions: 7 }), room({ sessions: 8 }), room({ sessions: 800, most_sessions: 0 })]).toEqual([true, false, true]);
  expect([room({ free_memory: 1 }), room({ free_memory: 1, least_memory: 0 }), room({ free_memory: 0 })]).toEqual([false, true, true]);
});

test("machines that run sessions are offered, each with why it cannot be chosen", () => {
  expect(places(machines, "/srv/shop").map((one) => [one.machine, one.closed])).toEqual([
    ["worker-1", ""],
    ["worker-2", "full"],
    ["worker-3", "sessions are not allowed in this folder there"],
  ]);
});

test("labels and folders are those of machines that run sessions, each once", () => {
  expect(labelsOf(machines)).toEqual(["gpu", "linux"]);
  expect(rootsOf(machines)).toEqual(["/home/ann/", "/srv"]);
});

test("all labels must match", () => {
  expect([labelled("linux"), labelled("gpu", "linux"), labelled("gpu", "none")]).toEqual([["worker-1"], ["worker-1"], []]);
});

test("the effect of a choice is explained", () => {
  const two = cluster([node("worker-1"), node("worker-2"), node("worker-3")]).machines;
  expect(outcome(two, "/srv", ANYWHERE)).toBe("Matches worker-1, worker-2 and worker-3.");
  expect(outcome(machines, "/srv", ANYWHERE)).toBe("Matches worker-1.");
  expect(outcome(machines, "/etc", ANYWHERE)).toBe("No machine matches.");
});

test("only chosen values are sent", () => {
  expect(whereFields(ANYWHERE)).toEqual({});
  expect(whereFields({ ...ANYWHERE, kind: "machine", machine: "worker-1" })).toEqual({ runner: "worker-1" });
  expect(whereFields({ ...ANYWHERE, kind: "labels", labels: ["gpu"] })).toEqual({ labels: ["gpu"] });
  expect(whereFields({ ...ANYWHERE, kind: "labels" })).toEqual({});
});
