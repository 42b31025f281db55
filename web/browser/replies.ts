// Short notation for replies of the scripted model, each given once.

import type { Reply } from "./server";

export const words = (text: string) => ({ type: "text", text });
export const use = (name: string, input: Record<string, unknown>) => ({ type: "tool_use", name, input });
/** In answer to a message that contains this text. */
export const on = (prompt: string, ...blocks: unknown[]): Reply => ({ when: { prompt }, times: 1, blocks });
/** After the model itself has said this. */
export const after = (said: string, ...blocks: unknown[]): Reply => ({ when: { said }, times: 1, blocks });
