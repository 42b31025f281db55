// The options for a session's settings, from what the CLI offers. Pure.

import type { SetEffort, SetMode } from "../../protocol/messages";
import type { ModelTold } from "../../state/about";
import { strings } from "../../strings";
import { efforts, modes } from "../../strings/settings";

export interface Option {
  value: string;
  name: string;
  what?: string;
}

export type Mode = SetMode["mode"];
export type Effort = NonNullable<SetEffort["effort"]>;

/** The entry of a model: by name, else by the name it resolves to, with "default" last. */
export function modelOf(models: readonly ModelTold[], model: string): ModelTold | undefined {
  const exact = models.find((one) => one.value === model);
  const same = models.filter((one) => one.resolved === model);
  return exact ?? same.find((one) => one.value !== "default") ?? same[0];
}

export function modelOptions(models: readonly ModelTold[]): Option[] {
  const told = models.map((one) => ({ value: one.value, name: one.name, what: one.description }));
  return told.some((one) => one.value === "default") ? told : [{ value: "", name: strings.panels.settings.cliDefault }, ...told];
}

/** Bypassing permissions is offered only if the session already does: it must be chosen when a session starts. */
export const modeOptions = (bypass: boolean): Option[] => Object.entries(modes).filter(([value]) => bypass || value !== "bypassPermissions").map(([value, { name, what }]) => ({ value, name, what }));

/** For an unknown model all levels are offered. */
export function effortOptions(model: ModelTold | undefined): Option[] {
  const levels = model ? ["", ...model.efforts] : Object.keys(efforts);
  return levels.map((value) => ({ value, name: efforts[value]?.name ?? value, what: efforts[value]?.what ?? "" }));
}

export function thinkingOptions(now: number | null): Option[] {
  const known = Object.entries(strings.panels.settings.thinkingChoices).map(([value, name]) => ({ value, name })).toSorted((a, b) => Number(a.value || -1) - Number(b.value || -1));
  const own = now !== null && !known.some((one) => one.value === String(now)) ? [{ value: String(now), name: strings.panels.settings.tokens(now) }] : [];
  return [...known, ...own];
}
