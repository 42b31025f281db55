// Every state of the page, looked at by axe: nothing that keeps anybody out.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { afterEach, expect, test } from "vitest";

import { RARE_STATES } from "./rare-states";
import { Server } from "./server";
import { SHOWCASE } from "./showcase";
import { STATES } from "./states";
import { part, PHONE, Visitor, type Look } from "./visitor";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LOOKS: [string, Look][] = [
  ["light, on a desk", {}],
  ["dark, on a phone", { dark: true, size: PHONE, touch: true }],
];

interface Found {
  violations: { id: string; nodes: { html: string }[] }[];
}

let server: Server | undefined;
afterEach(() => part(server));

test.each(LOOKS)("every state is accessible: %s", { timeout: 240_000 }, async (_name, look) => {
  server = await Server.start(SHOWCASE);
  const visitor = await Visitor.come(server, look);
  visitor.page.setDefaultTimeout(10_000);
  const faults: string[] = [];
  for (const state of [...STATES, ...RARE_STATES]) {
    await state.reach(visitor);
    // The page's policy runs no script from elsewhere: this one comes by the debugger.
    const session = await visitor.context.newCDPSession(visitor.page);
    await session.send("Runtime.evaluate", { expression: AXE });
    await session.detach();
    const found = (await visitor.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as Found;
    for (const one of found.violations) faults.push(`${state.name}: ${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  }
  await visitor.leave();
  expect(faults).toEqual([]);
});
