// Choices for a new session: model, permission mode, effort, thinking, output style. Converts them between the form and the server's
// fields.

import { useEffect, useMemo, useState } from "react";

import { get, send } from "../protocol/api";
import type { Start } from "../protocol/messages";
import { number, object, objects, text, type Json } from "../protocol/wire";
import { aboutOf, askAbout, useKnown, type About } from "./about";
import { agentOf } from "./agents";
import { useBridge } from "./bridge";

/** "" is the default of the server or of the CLI. */
export interface Choices {
  model: string;
  mode: string;
  effort: string;
  thinking: string;
  style: string;
}

export const NO_CHOICE: Choices = { model: "", mode: "", effort: "", thinking: "", style: "" };

export function choicesOf(said: unknown): Choices {
  const told = object(said);
  const tokens = told["thinking_tokens"];
  return {
    model: text(told["model"]),
    mode: text(told["mode"]),
    effort: text(told["effort"]),
    thinking: typeof tokens === "number" ? String(number(tokens)) : "",
    style: text(told["output_style"]),
  };
}

/** All fields, for saving as defaults; null if not chosen. */
export function allFields({ model, mode, effort, thinking, style }: Choices): Json {
  return { model: model || null, mode: mode || null, effort: effort || null, thinking_tokens: thinking === "" ? null : Number(thinking), output_style: style || null };
}

/** Only the chosen fields, for starting a session; the server's defaults apply to the others. */
export function chosenFields(choices: Choices): Partial<Start> {
  return Object.fromEntries(Object.entries(allFields(choices)).filter(([, value]) => value !== null)) as Partial<Start>;
}

export const loadDefaults = async (): Promise<Choices> => choicesOf(await get<Json>("/api/defaults"));
export const saveDefaults = async (choices: Choices): Promise<Choices> => choicesOf(await send<Json>("PUT", "/api/defaults", allFields(choices)));

/** The server's defaults, read on mount. */
export function useDefaults(): Choices {
  const [defaults, setDefaults] = useState(NO_CHOICE);
  useEffect(() => void loadDefaults().then(setDefaults, () => undefined), []);
  return defaults;
}

/** What the CLI or an ACP agent offers, as it told its session that changed last; where it cannot be asked, as it told any of them. */
export function useOffered(agent = ""): About {
  const newest = useBridge((known) => [...known.sessions.values()].filter((one) => agentOf(one) === agent).reduce<{ id: string; changed: number }>((a, b) => (b.changed > a.changed ? b : a), { id: "", changed: 0 }).id);
  const others = useBridge((known) => [...known.sessions.values()].filter((one) => agentOf(one) !== agent).map((one) => one.id).join(" "));
  const told = useKnown((known) => known.about);
  useEffect(() => {
    if (newest) void askAbout(newest);
  }, [newest]);
  return useMemo(() => offeredOf(told, newest, others.split(" ")), [told, newest, others]);
}

/** `others`: sessions of other agents, whose answers do not count. */
export function offeredOf(told: Readonly<Record<string, Json>>, newest: string, others: readonly string[] = []): About {
  const own = Object.entries(told).filter(([id]) => !others.includes(id)).map(([, one]) => one);
  const known = [...own, told[newest] ?? {}].findLast((one) => objects(one["models"]).length > 0);
  return aboutOf(known, null);
}
