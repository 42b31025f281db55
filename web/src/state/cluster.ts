// The machines, where sessions run on several. In: what the server tells of them, read again while somebody looks. Out: a store; null where
// there is one machine only, and then nothing about machines is shown anywhere.

import { useEffect } from "react";
import { create } from "zustand";

import { get, reasonOf, Refused } from "../protocol/api";
import type { SessionShown } from "../protocol/messages";
import { number, object, objects, text, texts, type Json } from "../protocol/wire";
import { useBridge } from "./bridge";
import { onForget } from "./forget";

/** One machine: it has a page (`address`), runs sessions, or both. Memory in bytes; 0 is not known, or no limit. */
export interface Machine {
  name: string;
  address: string;
  runs: boolean;
  /** Its sessions may be taken up elsewhere when it has gone. */
  moves: boolean;
  roots: string[];
  labels: string[];
  sessions: number;
  mostSessions: number;
  freeMemory: number;
  leastMemory: number;
  /** Events that it has and that are not yet with NATS. */
  behind: number;
  cli: string;
  version: string;
  /** Seconds since it was heard of. */
  age: number;
}

export interface Stream {
  name: string;
  messages: number;
  bytes: number;
  replicas: number;
  leader: string;
  /** Messages that the slowest copy lacks. */
  behind: number;
}

export interface Cluster {
  /** The machine that serves this page. */
  me: string;
  /** NATS answers. */
  up: boolean;
  machines: Machine[];
  streams: Stream[];
  alarms: string[];
}

interface Known {
  cluster: Cluster | null;
  /** Why it could not be read, the last time. */
  problem: string;
}

export const useCluster = create<Known>(() => ({ cluster: null, problem: "" }));
export const useIsCluster = (): boolean => useCluster((known) => known.cluster !== null);

/** The machine that runs a session, or ran it last; "" where there is only one. */
export const runnerOf = (session: SessionShown): string => text(object(session)["runner"]);

/** What the server told. A machine without a name is none. Pure. */
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

/** Read it, once at a time. Where it cannot be read, what was known stays. */
export function readCluster(): Promise<void> {
  reading ??= read().finally(() => (reading = undefined));
  return reading;
}

async function read(): Promise<void> {
  if (!useBridge.getState().hello?.machine) return put({ cluster: null, problem: "" }); // a server that is alone
  try {
    const told = clusterOf(await get<Json>("/api/cluster"));
    put({ cluster: told.me ? told : null, problem: "" });
  } catch (error) {
    put(error instanceof Refused && error.status === 404 ? { cluster: null, problem: "" } : { problem: reasonOf(error) });
  }
}

/** What comes after this device was let out is not for it. */
function put(known: Partial<Known>): void {
  if (useBridge.getState().hello) useCluster.setState(known);
}

onForget(() => useCluster.setState({ cluster: null, problem: "" }));

/** So often it is read while somebody looks at the machines, and while nobody does. */
const LOOKED_AT = 3000;
const CALM = 15_000;

const isSeen = (): boolean => document.visibilityState === "visible";

/** While this is drawn, it is read again and again. */
export function useFreshCluster(): void {
  useEffect(() => {
    void readCluster();
    const timer = setInterval(() => isSeen() && void readCluster(), LOOKED_AT);
    return () => clearInterval(timer);
  }, []);
}

/** From now on: at each greeting of the server, when a command met a machine that does not answer, and now and then where there are several. */
export function watchCluster(): void {
  useBridge.subscribe((known, before) => {
    const greeted = known.hello !== null && known.hello !== before.hello;
    if (greeted || known.unanswered > before.unanswered) void readCluster();
  });
  setInterval(() => useCluster.getState().cluster && isSeen() && void readCluster(), CALM);
}
