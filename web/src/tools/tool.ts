// The interface of a renderer. Each tool has a file that exports one; registry.ts lists them by name.

import type { ComponentType } from "react";

import type { Call, Help } from "../state/state";
import type { IconName } from "../ui/icon";

/** The summary line of a call: "Edited `app.ts` +12 −3". `object` is shown as code, `outcome` in a muted colour at the end. */
export interface Line {
  verb: string;
  object: string;
  outcome: string;
}

export interface Tool {
  icon: IconName;
  /** Called in every state of a call, also while its input is incomplete. Paths below `folder` are shown relative to it. */
  line(call: Call, folder?: string): Line;
  /** Shown when the line is expanded. */
  Body: ComponentType<{ call: Call }>;
  /** What is shown before it is allowed: all of it, nothing hidden. Where there is none, the fallback's. */
  Preview?: ComponentType<{ input: Record<string, unknown>; call: Call | undefined; help?: Help }>;
  /** It only looks: runs of such calls fold into one line. */
  looks?: boolean;
}
