// Building blocks of tool bodies: sections, fields, file lists, result blocks, and the remaining fields of an input.

import type { ReactNode } from "react";

import { blocks, isObject, object, text, type Block, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Code } from "../ui/code";
import { Images, isImage } from "../ui/images";
import { Link } from "../ui/link";
import { Terminal } from "../ui/terminal";
import { visible } from "../ui/visible";
import { said } from "./outcome";
import "./parts.css";

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="tool-section">
      <h4>{title}</h4>
      {children}
    </section>
  );
}

export const Note = ({ children, wrong = false }: { children: ReactNode; wrong?: boolean }) => <p className={wrong ? "tool-note failed" : "tool-note soft"}>{children}</p>;

export const asJson = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";

/** Any value: a string as it is, others as JSON. */
export function Value({ value, title, fold = true }: { value: unknown; title?: string; fold?: boolean }) {
  return <Code text={typeof value === "string" ? value : asJson(value)} language={typeof value === "string" ? "" : "json"} title={title} fold={fold} />;
}

/** Fields of an input that the caller does not show, so that a permission prompt hides nothing. A field in `shown` that is not a string,
 *  or in `flags` that is not a boolean, was not drawn by the caller and is included. */
export function Rest({ input, shown, flags = [] }: { input: Json; shown: string[]; flags?: string[] }) {
  const isShown = (name: string, value: unknown): boolean => (typeof value === "string" && shown.includes(name)) || (typeof value === "boolean" && flags.includes(name));
  const rest = Object.entries(input).filter(([name, value]) => !isShown(name, value));
  return rest.length ? <Fields fields={Object.fromEntries(rest)} fold={false} /> : null;
}

/** Short values in a list, long ones below it. */
export function Fields({ fields, fold = true }: { fields: Json; fold?: boolean }) {
  const entries = Object.entries(fields);
  const brief = entries.filter(([, value]) => isBrief(value));
  const long = entries.filter(([, value]) => !isBrief(value));
  return (
    <>
      {brief.length > 0 && (
        <dl className="tool-fields">
          {brief.map(([name, value]) => (
            <div key={name}>
              <dt>{visible(name, true)}</dt>
              <dd>
                <code>{visible(typeof value === "string" ? value : asJson(value), true)}</code>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {long.map(([name, value]) => (
        <Value key={name} title={visible(name, true)} value={value} fold={fold} />
      ))}
    </>
  );
}

const isBrief = (value: unknown): boolean => (typeof value === "string" ? value.length < 200 && !value.includes("\n") : typeof value !== "object" || value === null);

/** A list of files. */
export function Files({ names, label }: { names: string[]; label: string }) {
  return <Code text={names.join("\n")} title={label} fold />;
}

/** The blocks of a result; for a failed call, the reason. */
export function Result({ call, label = strings.tools.result }: { call: Call; label?: string }) {
  if (call.result.length === 0) return null;
  if (call.status !== "done") return <Terminal text={said(call)} label={label} wrong />;
  return <Blocks content={call.result} label={label} />;
}

function Blocks({ content, label }: { content: unknown; label: string }) {
  return blocks(content).map((block, at) => <BlockView key={at} block={block} label={label} />);
}

function BlockView({ block, label }: { block: Block; label: string }) {
  if (block.type === "text") {
    const json = asStructure(text(block["text"]));
    return json === undefined ? <Terminal text={text(block["text"])} label={label} /> : <Value title={label} value={json} />;
  }
  if (isImage(block)) return <Images blocks={[block]} />;
  if (block.type === "resource") return <Resource block={block} label={label} />;
  if (block.type === "resource_link") return <Note><Link address={text(block["uri"])} words={text(block["name"]) || text(block["uri"])} /></Note>;
  if (block.type === "document") return <Note>{strings.tools.document(text(object(block["source"])["media_type"]))}</Note>;
  if (block.type === "tool_reference") return <Note>{visible(text(block["tool_name"]), true)}</Note>;
  return <Value title={strings.tools.unknownBlock(block.type)} value={trimmed(block)} />;
}

/** The object or list that a text is as JSON; undefined for any other text. Large texts are not read. */
export function asStructure(said: string): unknown {
  if (said.length > LARGEST_JSON || !/^\s*[{[]/.test(said)) return undefined;
  try {
    return JSON.parse(said) as unknown;
  } catch {
    return undefined;
  }
}

const LARGEST_JSON = 500_000;

/** A resource of an MCP server: its address, and its text. */
function Resource({ block, label }: { block: Block; label: string }) {
  const told = object(block["resource"]);
  const words = text(told["text"]);
  return (
    <>
      <Note>{visible(text(told["uri"]), true)}</Note>
      {words ? <Terminal text={words} label={label} /> : <Note>{strings.tools.document(text(told["mimeType"]))}</Note>}
    </>
  );
}

/** Replaces base64 data with its size. */
function trimmed(value: unknown): unknown {
  if (typeof value === "string") return value.length > 2000 && /^[A-Za-z0-9+/=\s]+$/.test(value) ? strings.tools.data(value.length) : value;
  if (Array.isArray(value)) return value.map(trimmed);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, trimmed(one)])) : value;
}
