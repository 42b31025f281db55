// Which machines can run a new session, and the fields of `start` that select them. Pure.

import type { Machine } from "../../state/cluster";
import { strings } from "../../strings";
import { visible } from "../../ui/visible";

const words = strings.machines.where;

/** Any machine, one by name, or any that has all of the labels. */
export interface Where {
  kind: "any" | "machine" | "labels";
  machine: string;
  labels: string[];
}

export const ANYWHERE: Where = { kind: "any", machine: "", labels: [] };

export interface Place {
  machine: string;
  name: string;
  /** Why it cannot be chosen; "" if it can. */
  closed: string;
}

const below = (folder: string, root: string): boolean => folder === root || folder.startsWith(`${root.replace(/\/+$/, "")}/`);

/** Whether sessions may work in this folder on the machine. Whether the folder exists is known only to the machine. */
export const hasFolder = ({ roots }: Machine, folder: string): boolean => roots.some((root) => below(folder.replace(/\/+$/, "") || "/", root.replace(/\/+$/, "") || "/"));

/** Whether it can run another session. */
export const hasRoom = ({ sessions, mostSessions, freeMemory, leastMemory }: Machine): boolean => (!mostSessions || sessions < mostSessions) && (!leastMemory || !freeMemory || freeMemory >= leastMemory);

function whyNot(machine: Machine, folder: string): string {
  if (folder && !hasFolder(machine, folder)) return words.noFolder;
  return hasRoom(machine) ? "" : words.full;
}

/** The machines that run sessions, each with the reason if it cannot be chosen. */
export function places(machines: readonly Machine[], folder: string): Place[] {
  return machines.filter((one) => one.runs).map((one) => ({ machine: one.name, name: visible(one.name, true), closed: whyNot(one, folder) }));
}

/** The labels of all machines that run sessions, without duplicates. */
export const labelsOf = (machines: readonly Machine[]): string[] => [...new Set(machines.filter((one) => one.runs).flatMap((one) => one.labels))].toSorted();

/** The machines that can run it now. */
export function fitting(machines: readonly Machine[], folder: string, where: Where): Machine[] {
  const fits: Record<Where["kind"], (one: Machine) => boolean> = {
    any: () => true,
    machine: (one) => one.name === where.machine,
    labels: (one) => where.labels.every((label) => one.labels.includes(label)),
  };
  return machines.filter((one) => one.runs && fits[where.kind](one) && whyNot(one, folder) === "");
}

/** The matching machines, in a sentence. */
export function outcome(machines: readonly Machine[], folder: string, where: Where): string {
  const found = fitting(machines, folder, where).map((one) => visible(one.name, true));
  return found.length ? words.fitting(found) : words.none;
}

/** The folders allowed on any machine. */
export const rootsOf = (machines: readonly Machine[]): string[] => [...new Set(machines.filter((one) => one.runs).flatMap((one) => one.roots))].toSorted();

/** The fields for the server; empty if any machine will do. */
export function whereFields(where: Where): { runner?: string; labels?: string[] } {
  if (where.kind === "machine" && where.machine) return { runner: where.machine };
  return where.kind === "labels" && where.labels.length ? { labels: where.labels } : {};
}
