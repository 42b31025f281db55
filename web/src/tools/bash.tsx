// Bash: a command and its output, as in a terminal.

import { object, plain, text, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { bytes, clock } from "../strings/figures";
import { unstyled } from "../ui/ansi";
import { Code } from "../ui/code";
import { Images } from "../ui/images";
import { Terminal } from "../ui/terminal";
import { isDisguised, visible } from "../ui/visible";
import { isOver, lasted, lineOf, said } from "./outcome";
import { Note, Rest } from "./parts";
import { commandCount } from "./shell";
import { STORED, StoredOutput, storedOutput } from "./stored-output";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { bash } = strings.tools;

interface Printed {
  out: string;
  err: string;
  /** null if it succeeded or the code is unknown. */
  code: number | null;
}

/** The output, with error output separate if the CLI reports it so. */
export function printed(call: Call): Printed {
  const detail = object(call.detail);
  if (call.status === "running") return { out: call.printed, err: "", code: null };
  if (call.status === "done" && (text(detail["stdout"]) || text(detail["stderr"]))) return { out: text(detail["stdout"]), err: text(detail["stderr"]).trim(), code: null };
  const all = said(call);
  const code = /^Exit code (\d+)\n?/.exec(all);
  if (detail["noOutputExpected"] !== undefined && !text(detail["stdout"]) && call.status === "done" && !detail["backgroundTaskId"]) return { out: "", err: "", code: null };
  return { out: code ? all.slice(code[0].length) : all, err: "", code: code ? Number(code[1]) : null };
}

const TESTS = /\d+ (?:tests? )?(?:passed|failed|passing|failing)\b.*/;

/** Output on one line: test results, the only line, or the number of lines. */
function gist(out: string): string {
  const shown = unstyled(out).trim();
  const lines = shown ? shown.split("\n").map((line) => line.trim()) : [];
  const tests = lines.findLast((line) => TESTS.test(line));
  if (tests) return TESTS.exec(tests)![0].replace(/[=\s]+$/, "").slice(0, 60);
  if (lines.length === 1) return lines[0]!.length <= 60 ? lines[0]! : bash.lines(1);
  return lines.length ? bash.lines(lines.length) : bash.silent;
}

function outcome(call: Call): string[] {
  const detail = object(call.detail);
  const { out, err, code } = printed(call);
  if (!isOver(call)) return [];
  if (detail["backgroundTaskId"]) return [bash.background];
  if (code !== null) return [bash.exit(code), lasted(call)];
  const stored = storedOutput(call);
  return call.status === "done" ? [detail["interrupted"] === true ? bash.interrupted : stored ? bytes(stored.size) : gist(out || err), lasted(call)] : [];
}

function Notes({ call }: { call: Call }) {
  const detail = object(call.detail);
  const { code } = printed(call);
  const notes: [boolean, string, boolean?][] = [
    [code !== null, bash.exit(code ?? 0), true],
    [detail["interrupted"] === true, bash.interrupted, true],
    [Boolean(detail["backgroundTaskId"]), bash.backgroundAs(text(detail["backgroundTaskId"]))],
    [Boolean(detail["timedOutAfterMs"]), bash.timedOut],
    [Boolean(detail["returnCodeInterpretation"]), visible(text(detail["returnCodeInterpretation"]), true)],
  ];
  return notes.filter(([is]) => is).map(([, words, wrong]) => <Note key={words} wrong={wrong ?? false}>{words}</Note>);
}

function Body({ call }: { call: Call }) {
  const input = inputOf(call);
  const { out, err } = printed(call);
  const failed = call.status !== "done" && isOver(call);
  const stored = storedOutput(call);
  return (
    <>
      <Code text={text(input["command"])} language="bash" live={call.status === "typing"} title={visible(text(input["description"]), true) || bash.command} />
      {object(call.detail)["isImage"] === true ? <Images blocks={call.result} /> : out && <div className="tool-terminal">{stored ? <StoredOutput head={out.replace(STORED, "")} stored={stored} label={bash.output} wrong={failed} /> : <Terminal text={out} label={bash.output} wrong={failed} end={call.status === "running"} />}</div>}
      {err && (
        <div className="tool-terminal">
          <Terminal text={err} label={bash.errors} wrong />
        </div>
      )}
      {call.status === "running" && !out && <Note>{bash.noOutputYet(clock(call.started))}</Note>}
      {call.status === "done" && !out && !err && <Note>{bash.silent}</Note>}
      <Notes call={call} />
    </>
  );
}

/** Warnings about things that are easy to overlook in a command. */
function Warnings({ input }: { input: Json }) {
  const command = text(input["command"]);
  const count = commandCount(command);
  return (
    <>
      {(command.length > 200 || count > 1) && <Note>{bash.size(command.length, count)}</Note>}
      {isDisguised(command) && <Note wrong>{bash.disguised}</Note>}
      {input["run_in_background"] === true && <Note>{bash.inBackground}</Note>}
      {input["dangerouslyDisableSandbox"] === true && <Note wrong>{bash.noSandbox}</Note>}
    </>
  );
}

export const bashTool: Tool = {
  icon: "terminal",
  line(call) {
    const first = text(inputOf(call)["command"]).trim();
    const line = lineOf(strings.tools.verbs.run, call, first.replaceAll("\n", " ⏎ "), ...outcome(call));
    const { code, out } = printed(call);
    // The command ran even if it failed, and its output says more than "failed".
    return code === null ? line : { ...line, verb: strings.tools.verbs.run.done, outcome: [...outcome(call), visible(firstLine(out), true)].filter(Boolean).join(" · ") };
  },
  Body,
  Preview({ input }) {
    return (
      <div className="tool-preview">
        <Code text={text(input["command"])} language="bash" title={visible(text(input["description"]), true) || bash.command} />
        <Warnings input={input} />
        <Rest input={input} shown={["command", "description"]} flags={["run_in_background", "dangerouslyDisableSandbox"]} />
      </div>
    );
  },
};

const firstLine = (out: string): string => unstyled(out).split("\n").find((line) => line.trim())?.trim().slice(0, 120) ?? "";

/** The id of the background shell that a call reads or stops. */
const shellOf = (call: Call): string => text(inputOf(call)["bash_id"]) || text(inputOf(call)["shell_id"]) || text(inputOf(call)["task_id"]);

function OutputBody({ call }: { call: Call }) {
  const out = text(object(call.detail)["stdout"]) || plain(call.result);
  return out ? <div className="tool-terminal"><Terminal text={out} label={bash.output} wrong={call.status === "failed"} /></div> : <Note>{bash.silent}</Note>;
}

export const bashOutputTool: Tool = {
  icon: "terminal",
  looks: true,
  line: (call) => lineOf(strings.tools.verbs.output, call, shellOf(call)),
  Body: OutputBody,
};

export const killShellTool: Tool = {
  icon: "stop",
  line: (call) => lineOf(strings.tools.verbs.kill, call, shellOf(call)),
  Body: OutputBody,
};
