// How a tool is shown. One file per tool, each gives one of these; registry.ts knows them by name.

import type { ComponentType } from "react";

import type { Call } from "../state/state";
import type { IconName } from "../ui/icon";

/** The one line of a call: "Edited `app.ts` +12 −3". `object` is shown as code, `outcome` softly at the end. */
export interface Line {
  verb: string;
  object: string;
  outcome: string;
}

export interface Tool {
  icon: IconName;
  /** In: a call, at any time of its life: the input may be partly there; the session's folder, which paths below it leave out. */
  line(call: Call, folder?: string): Line;
  /** What is shown when the line is opened. */
  Body: ComponentType<{ call: Call }>;
  /** What is shown before it is allowed: all of it, nothing hidden. Where there is none, the fallback's. */
  Preview?: ComponentType<{ input: Record<string, unknown>; call: Call | undefined }>;
  /** It only looks: runs of such calls fold into one line. */
  looks?: boolean;
}
