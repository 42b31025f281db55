// Replies of the scripted model, in short. In: what was said, blocks. Out: a reply that is given once.

import type { Reply } from "./server";

export const words = (text: string) => ({ type: "text", text });
export const use = (name: string, input: Record<string, unknown>) => ({ type: "tool_use", name, input });
/** To a message that contains this. */
export const on = (prompt: string, ...blocks: unknown[]): Reply => ({ when: { prompt }, times: 1, blocks });
/** After the model itself has said this. */
export const after = (said: string, ...blocks: unknown[]): Reply => ({ when: { said }, times: 1, blocks });
