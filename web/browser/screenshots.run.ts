// What the page looks like: every state in light, dark and on a phone, as pictures in a folder. SCREENSHOTS says where.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { test } from "vitest";

import { Server } from "./server";
import { SHOWCASE } from "./showcase";
import { RARE_STATES } from "./rare-states";
import { STATES } from "./states";
import { PHONE, Visitor, type Look } from "./visitor";

const FOLDER = process.env["SCREENSHOTS"] ?? "screenshots";
const LOOKS: Record<string, Look> = { light: {}, dark: { dark: true }, phone: { size: PHONE, touch: true } };
const ONLY = process.env["LOOK"]?.split(",") ?? Object.keys(LOOKS);

test.each(ONLY)("pictures in %s", { timeout: 240_000 }, async (look) => {
  mkdirSync(FOLDER, { recursive: true });
  const server = await Server.start(SHOWCASE);
  const visitor = await Visitor.come(server, LOOKS[look]);
  visitor.page.setDefaultTimeout(10_000);
  const missed: string[] = [];
  for (const [at, state] of [...STATES, ...RARE_STATES].entries()) {
    await state.reach(visitor).catch((error: unknown) => missed.push(`${state.name}: ${String(error).slice(0, 300)}`));
    if (missed.length > 4) break;
    await visitor.page.screenshot({ path: join(FOLDER, `${String(at + 1).padStart(2, "0")}-${state.name}-${look}.png`) });
  }
  await visitor.context.close();
  await server.stop();
  if (missed.length) throw new Error(`states that were not reached:\n${missed.join("\n")}`);
});
