// Markdown, block by block. In: a text that grows, and what was made of it before. Out: its blocks; those that were whole are the same objects
// as before, and are not read again. Pure.

import type { Links, Token } from "marked";

import { lexed } from "./markdown-lexer";

export interface Parsed {
  text: string;
  tokens: Token[];
  links: Links;
  /** A block that became too long was cut, to be read as one when the text is whole. */
  cut: boolean;
}

export const NOTHING: Parsed = { text: "", tokens: [], links: {}, cut: false };

/** A block that is longer is cut while it is written, so that each frame costs the same. */
const LONG = 6000;
/** So many places are tried: each is a look at all that stands before it. */
const TRIES = 20;

export function parse(source: string, before: Parsed = NOTHING): Parsed {
  const text = source.replace(/\r\n?/g, "\n");
  if (text === before.text) return before;
  const settled = text.startsWith(before.text) ? settledTokens(before.tokens) : [];
  const from = settled.reduce((sum, token) => sum + token.raw.length, 0);
  const tail = lex(text.slice(from), settled.length ? before.links : {});
  return { text, tokens: [...settled, ...tail.tokens], links: tail.links, cut: settled.length > 0 && before.cut };
}

/** The same for a text that is still written. Out: as `parse`, but no last block that is too long. */
export function parseLive(source: string, before: Parsed): Parsed {
  const parsed = parse(source, before);
  const at = parsed.tokens.findLastIndex((token) => token.type !== "space");
  const last = parsed.tokens[at];
  const place = last && last.raw.length > LONG ? cutPlace(last) : 0;
  if (!last || !place) return parsed;
  const [head, rest] = [last.raw.slice(0, place), last.raw.slice(place)].map((part) => lex(part, parsed.links).tokens);
  const goesOn = head!.map((token) => ({ ...token, goesOn: true }));
  return { ...parsed, tokens: [...parsed.tokens.slice(0, at), ...goesOn, ...rest!, ...parsed.tokens.slice(at + 1)], cut: true };
}

/** The same once it is whole: read as a whole where that makes a difference, for a link may be explained after it was used. */
export const parseWhole = (source: string, before: Parsed): Parsed => parse(source, before.cut || Object.keys(before.links).length > 0 ? NOTHING : before);

/** Is this block the first part of one that was cut? */
export const goesOn = (token: Token): boolean => (token as { goesOn?: boolean }).goesOn === true;

/** Where a block can be cut with little harm: at its last line, or item of its list. */
const PLACES: Record<string, RegExp> = { paragraph: /\n(?=\S)|[.!?] (?=\S)/g, list: /\n(?=(?:[-*+]|\d{1,9}[.)]) )/g };

function cutPlace(token: Token): number {
  const places = PLACES[token.type];
  const last = places && [...token.raw.matchAll(places)].slice(-TRIES).findLast((found) => found.index > LONG / 2 && whole(token.raw.slice(0, found.index)));
  return last ? last.index + last[0].length : 0;
}

/** Nothing is open that closes later. */
const whole = (text: string): boolean => count(text, "`") % 2 === 0 && count(text, "*") % 2 === 0 && count(text, "[") === count(text, "]");
const count = (text: string, what: string): number => text.split(what).length - 1;

/** All but the last block: that may grow, and a list goes on after an empty line. */
function settledTokens(tokens: Token[]): Token[] {
  const last = tokens.findLastIndex((token) => token.type !== "space");
  return last > 0 ? tokens.slice(0, last) : [];
}

function lex(text: string, links: Links): { tokens: Token[]; links: Links } {
  const tokens = lexed(text, links);
  if (!tokens) return { tokens: [asIs(text)], links };
  // Where the blocks are not the text, their places in it are not known: one block then.
  if (tokens.reduce((sum, token) => sum + token.raw.length, 0) !== text.length && tokens.length > 1) return { tokens: [{ type: "whole", raw: text, tokens }], links: tokens.links };
  return { tokens: [...tokens], links: tokens.links };
}

export const AS_IS = "as-is";
const asIs = (text: string): Token => ({ type: AS_IS, raw: text }) as Token;
