// Foreign text is drawn as text everywhere.

import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import type { Call } from "../../src/state/state";
import { fallback } from "../../src/tools/fallback";
import { toolOf } from "../../src/tools/registry";
import { Code } from "../../src/ui/code";
import { Diff } from "../../src/ui/diff";
import { compare } from "../../src/ui/diff-rows";
import { Markdown } from "../../src/ui/markdown";
import { Terminal } from "../../src/ui/terminal";
import { PAYLOADS } from "../fixtures/payloads";
import { callOf } from "../tools/calls";

afterEach(cleanup);

const ALLOWED = new Set(["a", "blockquote", "br", "button", "code", "dd", "del", "div", "dl", "dt", "em", "h2", "h3", "h4", "h5", "h6", "hr", "input", "ins", "li", "mark", "ol", "p", "path", "pre", "section", "span", "strong", "svg", "table", "tbody", "td", "th", "thead", "tr", "ul"]);

/** What is there that should not be. */
function faults(box: HTMLElement): string[] {
  return [...box.querySelectorAll("*")].flatMap((element) => {
    const out: string[] = [];
    const tag = element.tagName.toLowerCase();
    if (!ALLOWED.has(tag)) out.push(`<${tag}>`);
    for (const name of element.getAttributeNames()) {
      const value = element.getAttribute(name)!;
      if (name.startsWith("on") || name === "srcdoc" || name === "src" || name === "ping" || name === "formaction") out.push(`${tag} ${name}=${value}`);
      if (name === "href" && !/^(https?|mailto):/.test(value)) out.push(`${tag} href=${value}`);
    }
    return out;
  });
}

test("there are more than two hundred payloads", () => {
  expect(new Set(PAYLOADS).size).toBeGreaterThanOrEqual(200);
});

test.each(PAYLOADS)("%j is harmless", (payload) => {
  const box = render(
    <>
      <Markdown text={payload} />
      <Markdown text={`words ${payload} words`} live />
      <Code text={payload} language={payload} title={payload} />
      <Terminal text={payload} label={payload} />
      <Diff path={payload} hunks={compare(payload, `${payload} `)} />
    </>,
  ).container;
  expect(faults(box)).toEqual([]);
  expect((globalThis as Record<string, unknown>)["__xss"]).toBeUndefined();
});

const NAMES = ["Read", "Edit", "Write", "Bash", "Glob", "Grep", "WebFetch", "WebSearch", "NotebookEdit", "TaskCreate", "TaskList", "TodoWrite", "Task", "AskUserQuestion", "ExitPlanMode", "Skill", "mcp__PAYLOAD__PAYLOAD", "PAYLOAD"];

function callWith(name: string, payload: string): Call {
  const input = {
    file_path: payload, content: payload, old_string: payload, new_string: `${payload}!`, command: payload, description: payload, pattern: payload, url: payload, prompt: payload, query: payload,
    notebook_path: payload, new_source: payload, cell_id: payload, cell_type: "markdown", subject: payload, plan: payload, skill: payload, [payload]: payload,
    todos: [{ content: payload, status: payload }], questions: [{ question: payload, header: payload, options: [{ label: payload, description: payload }] }],
  };
  const detail = {
    stdout: payload, stderr: payload, filenames: [payload], old_source: "x", answers: { [payload]: payload }, result: payload, file: { content: payload, startLine: 1 }, type: "text",
    results: [payload, { content: [{ title: payload, url: payload }] }], tasks: [{ id: payload, subject: payload, status: payload }], structuredContent: { [payload]: payload },
  };
  return callOf(name.replaceAll("PAYLOAD", payload), input, { detail, result: [{ type: "text", text: payload }, { type: "resource", resource: { uri: payload, text: payload } }, { type: "resource_link", uri: payload, name: payload }, { type: payload }], title: payload });
}

/** A tool draws with the same parts: some of each kind are enough. */
const SOME = PAYLOADS.filter((_, at) => at % 40 === 0);

test.each(NAMES)("in any place of %s too", (name) => {
  const tool = toolOf(name);
  const Preview = tool.Preview ?? fallback.Preview!;
  for (const payload of SOME) {
    const call = callWith(name, payload);
    const { verb, object, outcome } = tool.line(call);
    const box = render(<><p>{verb}<code>{object}</code>{outcome}</p><tool.Body call={call} /><Preview input={call.input} call={call} /></>).container;
    expect(faults(box), payload).toEqual([]);
    cleanup();
  }
}, 30_000);
