// On which machine a new session may run. In: the machines, a folder, what was chosen. Out: options in words, and the fields for the server. Pure.

import type { Machine } from "../../state/cluster";
import { strings } from "../../strings";
import { visible } from "../../ui/visible";

const words = strings.machines.where;

/** Any machine, one by its name, or any with all of some labels. */
export interface Where {
  kind: "any" | "machine" | "labels";
  machine: string;
  labels: string[];
}

export const ANYWHERE: Where = { kind: "any", machine: "", labels: [] };

export interface Place {
  machine: string;
  name: string;
  /** Why it cannot be chosen. */
  closed: string;
}

const below = (folder: string, root: string): boolean => folder === root || folder.startsWith(`${root.replace(/\/+$/, "")}/`);

/** May sessions work in this folder there? Whether the folder is there, only the machine itself knows. */
export const hasFolder = ({ roots }: Machine, folder: string): boolean => roots.some((root) => below(folder.replace(/\/+$/, "") || "/", root.replace(/\/+$/, "") || "/"));

/** Can it take one session more? */
export const hasRoom = ({ sessions, mostSessions, freeMemory, leastMemory }: Machine): boolean => (!mostSessions || sessions < mostSessions) && (!leastMemory || !freeMemory || freeMemory >= leastMemory);

function whyNot(machine: Machine, folder: string): string {
  if (folder && !hasFolder(machine, folder)) return words.noFolder;
  return hasRoom(machine) ? "" : words.full;
}

/** The machines that run sessions, each with why it cannot be chosen, if so. */
export function places(machines: readonly Machine[], folder: string): Place[] {
  return machines.filter((one) => one.runs).map((one) => ({ machine: one.name, name: visible(one.name, true), closed: whyNot(one, folder) }));
}

/** Every label that a machine that runs sessions has, each once. */
export const labelsOf = (machines: readonly Machine[]): string[] => [...new Set(machines.filter((one) => one.runs).flatMap((one) => one.labels))].toSorted();

/** The machines that could take it as things are. */
export function fitting(machines: readonly Machine[], folder: string, where: Where): Machine[] {
  const fits: Record<Where["kind"], (one: Machine) => boolean> = {
    any: () => true,
    machine: (one) => one.name === where.machine,
    labels: (one) => where.labels.every((label) => one.labels.includes(label)),
  };
  return machines.filter((one) => one.runs && fits[where.kind](one) && whyNot(one, folder) === "");
}

/** What follows from the choice, in a sentence. */
export function outcome(machines: readonly Machine[], folder: string, where: Where): string {
  const found = fitting(machines, folder, where).map((one) => visible(one.name, true));
  return found.length ? words.fitting(found) : words.none;
}

/** Folders below which some machine lets sessions work. */
export const rootsOf = (machines: readonly Machine[]): string[] => [...new Set(machines.filter((one) => one.runs).flatMap((one) => one.roots))].toSorted();

/** As the server wants it; nothing, where any machine will do. */
export function whereFields(where: Where): { runner?: string; labels?: string[] } {
  if (where.kind === "machine" && where.machine) return { runner: where.machine };
  return where.kind === "labels" && where.labels.length ? { labels: where.labels } : {};
}
