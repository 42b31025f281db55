// WebFetch, WebSearch: pages of the web, shown as text. The browser loads nothing from them.

import { list, number, object, objects, plain, text } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Code } from "../ui/code";
import { Link, target } from "../ui/link";
import { Markdown } from "../ui/markdown";
import { lasted, lineOf } from "./outcome";
import { Note, Rest, Result, Section } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { web } = strings.tools;

function FetchBody({ call }: { call: Call }) {
  const input = inputOf(call);
  const url = text(input["url"]);
  return (
    <>
      <Note>
        <Link address={url} words={url} />
      </Note>
      {text(input["prompt"]) && <Section title={web.asked}>{text(input["prompt"])}</Section>}
      {call.status === "done" ? (
        <div className="tool-body-text">
          <Markdown text={text(object(call.detail)["result"]) || plain(call.result)} />
        </div>
      ) : (
        <Result call={call} />
      )}
    </>
  );
}

export const webFetchTool: Tool = {
  icon: "globe",
  line(call) {
    const url = text(inputOf(call)["url"]);
    const detail = object(call.detail);
    const shown = url.replace(/^https?:\/\//, "").replace(/\/$/, "");
    const code = number(detail["code"]);
    return lineOf(strings.tools.verbs.fetch, call, shown, code > 0 && code !== 200 && `${code} ${text(detail["codeText"])}`, number(detail["bytes"]) > 0 && web.size(number(detail["bytes"])), lasted(call));
  },
  Body: FetchBody,
  Preview({ input }) {
    const url = text(input["url"]);
    return (
      <div className="tool-preview">
        <Code text={url} title={web.address} />
        <Note>{web.host(target(url)?.host ?? "")}</Note>
        {text(input["prompt"]) && <Code text={text(input["prompt"])} title={web.asked} />}
        <Rest input={input} shown={["url", "prompt"]} />
      </div>
    );
  },
};

/** The links found: from the structured result, or from the JSON in the text. */
export function sources(call: Call): { title: string; url: string }[] {
  const told = list(object(call.detail)["results"]).flatMap((result) => objects(object(result)["content"]));
  const written = told.length ? [] : [...plain(call.result).matchAll(/^Links: (\[.*\])$/gm)].flatMap((found) => parsed(found[1]!));
  return [...told, ...written].map((one) => ({ title: text(one["title"]), url: text(one["url"]) })).filter((one) => one.url);
}

function parsed(json: string): Record<string, unknown>[] {
  try {
    return objects(JSON.parse(json));
  } catch {
    return [];
  }
}

function SearchBody({ call }: { call: Call }) {
  if (call.status !== "done") return <Result call={call} />;
  const links = sources(call);
  const told = list(object(call.detail)["results"]).filter((one): one is string => typeof one === "string");
  const words = told.length ? told.join("\n\n") : plain(call.result).replace(/^Links: .*$/gm, "");
  return (
    <>
      {links.length > 0 && (
        <Section title={web.sources}>
          <ul className="tool-list">
            {links.map((one, at) => (
              <li key={at}>
                <span>
                  <Link address={one.url} words={one.title || one.url} />
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {words.trim() && (
        <div className="tool-body-text">
          <Markdown text={words} />
        </div>
      )}
    </>
  );
}

export const webSearchTool: Tool = {
  icon: "globe",
  looks: true,
  line: (call) => lineOf(strings.tools.verbs.search, call, text(inputOf(call)["query"]), call.status === "done" && web.found(sources(call).length)),
  Body: SearchBody,
};
