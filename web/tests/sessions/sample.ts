// Sample sessions: given fields, defaults for all others.

import type { SessionShown } from "../../src/protocol/messages";

export const session = (fields: Partial<SessionShown> & { id: string; runner?: string }): SessionShown =>
  ({
    cwd: "/home/ann/project",
    created: 1000,
    changed: 1000,
    conversation: "",
    title: "",
    state: "idle",
    model: "",
    mode: "default",
    archived: false,
    trusted: true,
    cost: 0,
    questions: 0,
    error: "",
    lapsed: [],
    ...fields,
  }) as SessionShown;
