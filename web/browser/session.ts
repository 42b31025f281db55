// Starts sessions without the dialogs, for tests about something else. The visitor must be logged in.

import { randomUUID } from "node:crypto";
import { join } from "node:path";

import type { Visitor } from "./visitor";

/** Execute a command over HTTP as this visitor. */
export async function command(visitor: Visitor, name: string, fields: Record<string, unknown>): Promise<Record<string, unknown>> {
  const answer = await visitor.context.request.post(`${visitor.server.origin}/api/commands`, { data: { id: randomUUID(), command: name, fields }, headers: { origin: visitor.server.origin } });
  const told = (await answer.json()) as { ok?: boolean; result?: Record<string, unknown> };
  if (!told.ok) throw new Error(`${name}: ${JSON.stringify(told)}`);
  return told.result ?? {};
}

/** Start a session in the project folder or below it, and open it. Returns its id. */
export async function begin(visitor: Visitor, below = ""): Promise<string> {
  await visitor.page.getByRole("button", { name: /^(New session|Show sessions)/ }).first().waitFor(); // logged in
  const { session } = await command(visitor, "start", { cwd: join(visitor.server.folder, below) });
  const id = typeof session === "string" ? session : (session as { id: string }).id;
  await visit(visitor, id);
  return id;
}

export async function visit(visitor: Visitor, session: string): Promise<void> {
  await visitor.page.goto(`${visitor.server.origin}/#/session/${session}`);
  await visitor.composer.waitFor();
}
