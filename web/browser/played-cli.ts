// A CLI whose lines are written by the test, for what no scripted model can cause. A turn is chosen by a word of the message.

import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Server } from "./server";

type Json = Record<string, unknown>;

export interface Part {
  /** Further fields of the line that begins each turn. */
  init?: Json;
  /** Answers to control requests, by their subtype. */
  answers?: Record<string, Json>;
  /** With these models answers are fast. */
  fast?: string[];
  turns: Record<string, Json[]>;
}

const SOURCE = `
import json, sys, uuid
part = json.load(open(PART))
model, ids = "plain-model", iter(range(1, 10**6))
def say(**line): print(json.dumps({"uuid": str(uuid.uuid4()), "session_id": "played", **line}), flush=True)
def begin():
    fast = "on" if model in part.get("fast", []) else "off"
    say(type="system", subtype="init", model=model, cwd=".", permissionMode="default", claude_code_version="2.1.325", fast_mode_state=fast, **{"tools": ["Bash"], "slash_commands": ["compact"], **part.get("init", {})})
def end(**fields):
    say(type="result", **{"subtype": "success", "is_error": False, "num_turns": 1, "duration_ms": 10, "total_cost_usd": 0.01, "result": "", **fields})
waiting = []
def play(lines):
    while lines:
        line = lines.pop(0)
        if line["type"] == "control_request": # the rest when it is answered
            print(json.dumps({"request_id": f"asked-{next(ids)}", **line}), flush=True)
            waiting.append(lines)
            return
        if line["type"] == "hold": # until the test releases it: opening a pipe waits for its writer
            open(line["pipe"]).close()
            continue
        end(**{k: v for k, v in line.items() if k != "type"}) if line["type"] == "result" else say(**line)
    end()
for row in sys.stdin:
    line = json.loads(row)
    if line["type"] == "control_request":
        request = line["request"]
        if request["subtype"] == "set_model": model = request.get("model") or "plain-model"
        told = part.get("answers", {}).get(request["subtype"], {})
        print(json.dumps({"type": "control_response", "response": {"subtype": "success", "request_id": line["request_id"], "response": told}}), flush=True)
    elif line["type"] == "control_response" and waiting: play(waiting.pop())
    elif line["type"] == "user":
        content = line["message"]["content"]
        said = content if isinstance(content, str) else " ".join(block.get("text", "") for block in content)
        begin()
        play(next((list(lines) for word, lines in part["turns"].items() if word in said), []))
`;

/** Let a server that is not started yet use this CLI. */
export function playedBy(server: Server, part: Part): void {
  const [program, file, cli] = ["played.py", "part.json", "played-cli"].map((name) => join(server.home, name)) as [string, string, string];
  const held = Object.values(part.turns).flat().filter((line) => line["type"] === "hold");
  for (const line of held) execFileSync("mkfifo", [(line["pipe"] = pipeOf(server, line["name"] as string))]);
  writeFileSync(file, JSON.stringify(part));
  writeFileSync(program, SOURCE.replace("PART", JSON.stringify(file)));
  writeFileSync(cli, `#!/bin/sh\n[ "$1" = --version ] || [ "$1" = -v ] && { echo 2.1.325; exit 0; }\nexec python3 "${program}"\n`);
  chmodSync(cli, 0o755);
  server.settings.cli = cli;
}

const pipeOf = (server: Server, name: string): string => join(server.home, `hold-${name}`);

/** The turn pauses here until the test releases it. Each name is used once. */
export const hold = (name: string): Json => ({ type: "hold", name });
export const release = (server: Server, name: string): Promise<void> => writeFile(pipeOf(server, name), "");

let made = 0;

/** A message of the model, whole. */
export const assistant = (...content: unknown[]): Json => ({ type: "assistant", parent_tool_use_id: null, message: { id: `msg-${(made += 1)}`, role: "assistant", model: "plain-model", content, usage: { input_tokens: 10, output_tokens: 1 } } });
/** A call, and what came of it. */
export const called = (id: string, name: string, input: Json, result: unknown, detail?: unknown): Json[] => [
  assistant({ type: "tool_use", id, name, input }),
  { type: "user", parent_tool_use_id: null, message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] }, ...(detail !== undefined && { tool_use_result: detail }) },
];
/** A permission request. The turn continues when it is answered. */
export const mayIt = (tool: string, input: Json, besides: Json = {}): Json => ({ type: "control_request", request: { subtype: "can_use_tool", tool_name: tool, input, permission_suggestions: [], tool_use_id: "asked", ...besides } });
