// Markdown tokens as React elements, by type. Tokens of other types are drawn as their source text.

import { Fragment, type ReactNode } from "react";

import type { Token, Tokens } from "marked";

import { strings } from "../strings";
import { Code } from "./code";
import { decoded } from "./entities";
import { Link } from "./link";
import { VisibleText } from "./visible-text";

/** Deeper nesting is drawn as text; it occurs only in hostile input. */
const DEEPEST = 24;

type Draw = (token: never, depth: number, live: boolean) => ReactNode;

export const drawBlock = (token: Token, live: boolean): ReactNode => one(token, 0, live);

const all = (tokens: Token[] | undefined, depth: number, live = false): ReactNode => (tokens ?? []).map((token, at) => <Fragment key={at}>{one(token, depth + 1, live)}</Fragment>);

function one(token: Token, depth: number, live: boolean): ReactNode {
  const draw = depth > DEEPEST || !Object.hasOwn(TYPES, token.type) ? undefined : TYPES[token.type];
  return draw ? draw(token as never, depth, live) : <VisibleText text={token.raw} care="prose" />;
}

const TYPES: Record<string, Draw> = {
  space: () => null,
  whole: (token: Tokens.Generic, depth) => all(token.tokens, depth),
  def: (token: Tokens.Def) => <p className="small soft"><VisibleText text={token.raw.trim()} /></p>, // a link definition; shown, so that nothing is hidden in it
  hr: () => <hr />,
  heading: (token: Tokens.Heading, depth) => {
    const Tag = `h${Math.min(token.depth + 1, 6)}` as "h2";
    return <Tag>{all(token.tokens, depth)}</Tag>;
  },
  paragraph: (token: Tokens.Paragraph, depth) => <p>{all(token.tokens, depth)}</p>,
  blockquote: (token: Tokens.Blockquote, depth) => <blockquote>{all(token.tokens, depth)}</blockquote>,
  code: (token: Tokens.Code, _depth, live) => <Code text={token.text} language={token.lang ?? ""} live={live} />,
  list: drawList,
  table: drawTable,
  checkbox: () => null, // drawn with its item
  html: (token: Tokens.HTML) => (/^<br\s*\/?>$/i.test(token.raw.trim()) ? <br /> : <VisibleText text={token.raw} care="prose" />),

  text: (token: Tokens.Text, depth) => (token.tokens ? all(token.tokens, depth) : <VisibleText text={decoded(token.text)} care="prose" />),
  escape: (token: Tokens.Escape) => token.text,
  strong: (token: Tokens.Strong, depth) => <strong>{all(token.tokens, depth)}</strong>,
  em: (token: Tokens.Em, depth) => <em>{all(token.tokens, depth)}</em>,
  del: (token: Tokens.Del, depth) => <del>{all(token.tokens, depth)}</del>,
  codespan: (token: Tokens.Codespan) => (
    <code>
      <VisibleText text={token.text} />
    </code>
  ),
  br: () => <br />,
  link: (token: Tokens.Link, depth) => (
    <Link address={decoded(token.href)} words={decoded(token.text)}>
      {all(token.tokens, depth)}
    </Link>
  ),
  // Loading a remote image would reveal to its server who reads this, and when.
  image: (token: Tokens.Image) => <Link address={decoded(token.href)} words={strings.tools.image(decoded(token.text))} />,
};

function drawList(token: Tokens.List, depth: number, live: boolean): ReactNode {
  const items = token.items.map((item, at) => (
    <li key={at} className={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? strings.tools.ticked : strings.tools.unticked} />}
      {all(item.tokens, depth, live && at === token.items.length - 1)}
    </li>
  ));
  return token.ordered ? <ol start={typeof token.start === "number" ? token.start : 1}>{items}</ol> : <ul>{items}</ul>;
}

function drawTable(token: Tokens.Table, depth: number): ReactNode {
  const side = (at: number) => token.align[at] ?? undefined;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable regions must be reachable by keyboard
    <div className="table-box" tabIndex={0} role="region" aria-label={strings.tools.table}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, at) => (
              <th key={at} scope="col" style={{ textAlign: side(at) }}>
                {all(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} style={{ textAlign: side(column) }}>
                  {all(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
