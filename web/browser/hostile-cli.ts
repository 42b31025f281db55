// A hostile CLI, started in place of a real one. It writes given lines after each prompt, and records its input.

import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Server } from "./server";

export type Line = Record<string, unknown>;

export interface Acts {
  /** Its answer to a request for information about itself. */
  about?: Line;
  /** Its answer to a request for its MCP servers. */
  mcp?: Line;
  /** By prompt: the lines that follow it. A turn ends by itself unless it asks a question. */
  turns: Record<string, Line[]>;
}

const PROGRAM = `
import json, os, sys
home = os.path.dirname(os.path.abspath(__file__))
acts = json.load(open(os.path.join(home, "acts.json")))
if "--version" in sys.argv or "-v" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()
def write(line):
    sys.stdout.write(json.dumps({"session_id": "d9a09037-a518-4a62-81a5-5d8781e3f358", **line}) + "\\n")
    sys.stdout.flush()
def end(count=[0]):
    count[0] += 1
    write({"type": "result", "subtype": "success", "is_error": False, "result": "", "duration_ms": 1, "total_cost_usd": 0, "uuid": "r%d" % count[0]})
for line in sys.stdin:
    with open(os.path.join(home, "told.ndjson"), "a") as told: told.write(line)
    heard = json.loads(line)
    if heard["type"] == "control_request":
        asked = heard["request"].get("subtype")
        body = acts.get("mcp", {}) if asked == "mcp_status" else acts.get("about", {}) if asked == "initialize" else {}
        write({"type": "control_response", "response": {"subtype": "success", "request_id": heard["request_id"], "response": body}})
    elif heard["type"] == "control_response":
        end()
    elif heard["type"] == "user":
        content = heard["message"]["content"]
        said = content if isinstance(content, str) else content[0]["text"]
        write({"type": "system", "subtype": "init", "model": "m", "permissionMode": "default", "tools": [], "uuid": "i"})
        lines = acts["turns"].get(said, [])
        for one in lines: write(one)
        if not any(one["type"] == "control_request" for one in lines): end()
`;

/** Make the server start this CLI. */
export function hostileCli(server: Server, acts: Acts): void {
  const path = join(server.home, "claude-hostile");
  writeFileSync(join(server.home, "acts.json"), JSON.stringify(acts));
  writeFileSync(path, `#!/usr/bin/env python3\n${PROGRAM}`);
  chmodSync(path, 0o755);
  server.settings.cli = path;
}

/** The lines of one type that it received. */
export function toldTo(server: Server, type: string): Line[] {
  const path = join(server.home, "told.ndjson");
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
  return lines.map((line) => JSON.parse(line) as Line).filter((line) => line["type"] === type);
}

let count = 0;
export const says = (text: string, uuid = `a${(count += 1)}`): Line => ({ type: "assistant", uuid, parent_tool_use_id: null, message: { id: `m${(count += 1)}`, role: "assistant", content: [{ type: "text", text }] } });
export const calls = (name: string, input: unknown, id = `toolu_${(count += 1)}`): Line => ({ type: "assistant", uuid: `u${id}`, parent_tool_use_id: null, message: { id: `m${id}`, role: "assistant", content: [{ type: "tool_use", id, name, input }] } });
export const gives = (id: string, content: unknown, detail?: unknown): Line => ({ type: "user", uuid: `r${id}`, parent_tool_use_id: null, tool_use_result: detail, message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] } });
export const asks = (name: string, input: unknown, id = `ask${(count += 1)}`): Line => ({ type: "control_request", request_id: id, request: { subtype: "can_use_tool", tool_name: name, input, tool_use_id: `t${id}`, permission_suggestions: [] } });
