// The machines of a cluster, polled from the server. The store is null on a single machine, and the page then shows nothing about machines.

import { useEffect } from "react";
import { create } from "zustand";

import { get, reasonOf, Refused } from "../protocol/api";
import type { SessionShown } from "../protocol/messages";
import { number, object, objects, text, texts, type Json } from "../protocol/wire";
import { useBridge } from "./bridge";
import { onForget } from "./forget";

/** A machine: it serves a page (`address`), runs sessions, or both. Memory is in bytes; 0 means unknown or no limit. */
export interface Machine {
  name: string;
  address: string;
  runs: boolean;
  /** Its sessions can be resumed on another machine if it is lost. */
  moves: boolean;
  roots: string[];
  labels: string[];
  sessions: number;
  mostSessions: number;
  freeMemory: number;
  leastMemory: number;
  /** Events not yet published to NATS. */
  behind: number;
  cli: string;
  version: string;
  /** Seconds since its last heartbeat. */
  age: number;
}

export interface Stream {
  name: string;
  messages: number;
  bytes: number;
  replicas: number;
  leader: string;
  /** Messages the slowest replica lacks. */
  behind: number;
}

export interface Cluster {
  /** The machine that serves this page. */
  me: string;
  /** NATS responds. */
  up: boolean;
  machines: Machine[];
  streams: Stream[];
  alarms: string[];
}

interface Known {
  cluster: Cluster | null;
  /** Why the last request failed. */
  problem: string;
}

export const useCluster = create<Known>(() => ({ cluster: null, problem: "" }));
export const useIsCluster = (): boolean => useCluster((known) => known.cluster !== null);

/** The machine that runs a session, or ran it last; "" outside a cluster. */
export const runnerOf = (session: SessionShown): string => text(object(session)["runner"]);

/** Decode the server's answer. Machines without a name are skipped. Pure. */
export function clusterOf(told: Json): Cluster {
  return {
    me: text(told["me"]),
    up: told["up"] !== false,
    machines: objects(told["nodes"]).map(machineOf).filter((one) => one.name).toSorted((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
    streams: objects(told["streams"]).map(streamOf),
    alarms: texts(told["alarms"]),
  };
}

const machineOf = (one: Json): Machine => ({
  name: text(one["name"]),
  address: text(one["address"]),
  runs: one["runs"] !== false,
  moves: one["moves"] !== false,
  roots: texts(one["roots"]),
  labels: texts(one["labels"]),
  sessions: number(one["sessions"]),
  mostSessions: number(one["most_sessions"]),
  freeMemory: number(one["free_memory"]),
  leastMemory: number(one["least_memory"]),
  behind: number(one["behind"]),
  cli: text(one["cli"]),
  version: text(one["version"]),
  age: number(one["age"]),
});

const streamOf = (one: Json): Stream => ({
  name: text(one["name"]),
  messages: number(one["messages"]),
  bytes: number(one["bytes"]),
  replicas: number(one["replicas"]),
  leader: text(one["leader"]),
  behind: number(one["behind"]),
});

let reading: Promise<void> | undefined;

/** Load the cluster's state, one request at a time. If that fails, the last known state is kept. */
export function readCluster(): Promise<void> {
  reading ??= read().finally(() => (reading = undefined));
  return reading;
}

async function read(): Promise<void> {
  if (!useBridge.getState().hello?.machine) return put({ cluster: null, problem: "" }); // not in a cluster
  try {
    const told = clusterOf(await get<Json>("/api/cluster"));
    put({ cluster: told.me ? told : null, problem: "" });
  } catch (error) {
    put(error instanceof Refused && error.status === 404 ? { cluster: null, problem: "" } : { problem: reasonOf(error) });
  }
}

/** Answers that arrive after this device was revoked are discarded. */
function put(known: Partial<Known>): void {
  if (useBridge.getState().hello) useCluster.setState(known);
}

onForget(() => useCluster.setState({ cluster: null, problem: "" }));

/** Milliseconds between requests while the machines are shown, and otherwise. */
const LOOKED_AT = 3000;
const CALM = 15_000;

const isSeen = (): boolean => document.visibilityState === "visible";

/** Poll while the component is mounted. */
export function useFreshCluster(): void {
  useEffect(() => {
    void readCluster();
    const timer = setInterval(() => isSeen() && void readCluster(), LOOKED_AT);
    return () => clearInterval(timer);
  }, []);
}

/** Load the state on each hello of the server, when a machine does not answer a command, and periodically in a cluster. */
export function watchCluster(): void {
  useBridge.subscribe((known, before) => {
    const greeted = known.hello !== null && known.hello !== before.hello;
    if (greeted || known.unanswered > before.unanswered) void readCluster();
  });
  setInterval(() => useCluster.getState().cluster && isSeen() && void readCluster(), CALM);
}
