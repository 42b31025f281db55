// What can be chosen for a session, as options in words. In: what the CLI offers. Out: options. Pure.

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

/** The row of the list that a model is: by its own name, else by what a name stands for, "default" last. */
export function modelOf(models: readonly ModelTold[], model: string): ModelTold | undefined {
  const exact = models.find((one) => one.value === model);
  const same = models.filter((one) => one.resolved === model);
  return exact ?? same.find((one) => one.value !== "default") ?? same[0];
}

export function modelOptions(models: readonly ModelTold[]): Option[] {
  const told = models.map((one) => ({ value: one.value, name: one.name, what: one.description }));
  return told.some((one) => one.value === "default") ? told : [{ value: "", name: strings.panels.settings.cliDefault }, ...told];
}

/** That which allows everything is offered only where it is chosen already: it is taken at the start, by hand. */
export const modeOptions = (bypass: boolean): Option[] => Object.entries(modes).filter(([value]) => bypass || value !== "bypassPermissions").map(([value, { name, what }]) => ({ value, name, what }));

/** Of a model that is not known any level may be tried. */
export function effortOptions(model: ModelTold | undefined): Option[] {
  const levels = model ? ["", ...model.efforts] : Object.keys(efforts);
  return levels.map((value) => ({ value, name: efforts[value]?.name ?? value, what: efforts[value]?.what ?? "" }));
}

export function thinkingOptions(now: number | null): Option[] {
  const known = Object.entries(strings.panels.settings.thinkingChoices).map(([value, name]) => ({ value, name })).toSorted((a, b) => Number(a.value || -1) - Number(b.value || -1));
  const own = now !== null && !known.some((one) => one.value === String(now)) ? [{ value: String(now), name: strings.panels.settings.tokens(now) }] : [];
  return [...known, ...own];
}
