// Incremental parsing of Markdown that grows. Complete blocks are reused as the same objects and not parsed again. Pure.

import type { Links, Token } from "marked";

import { lexed } from "./markdown-lexer";

export interface Parsed {
  text: string;
  tokens: Token[];
  links: Links;
  /** A long block was split; the complete text must be parsed again as a whole. */
  cut: boolean;
}

export const NOTHING: Parsed = { text: "", tokens: [], links: {}, cut: false };

/** Longer blocks are split while the text streams, so that the cost per frame is bounded. */
const LONG = 6000;
/** Split points tried; each try scans the block from its start. */
const TRIES = 20;

export function parse(source: string, before: Parsed = NOTHING): Parsed {
  const text = source.replace(/\r\n?/g, "\n");
  if (text === before.text) return before;
  const settled = text.startsWith(before.text) ? settledTokens(before.tokens) : [];
  const from = settled.reduce((sum, token) => sum + token.raw.length, 0);
  const tail = lex(text.slice(from), settled.length ? before.links : {});
  return { text, tokens: [...settled, ...tail.tokens], links: tail.links, cut: settled.length > 0 && before.cut };
}

/** Parse a streaming text: as `parse`, but a long last block is split. */
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

/** Parse a complete text: from the start if a block was split or a link defined, since a link can be used before its definition. */
export const parseWhole = (source: string, before: Parsed): Parsed => parse(source, before.cut || Object.keys(before.links).length > 0 ? NOTHING : before);

/** Whether this block is the first part of a split one. */
export const goesOn = (token: Token): boolean => (token as { goesOn?: boolean }).goesOn === true;

/** Where a block can be split with little effect: at a line, a sentence or a list item. */
const PLACES: Record<string, RegExp> = { paragraph: /\n(?=\S)|[.!?] (?=\S)/g, list: /\n(?=(?:[-*+]|\d{1,9}[.)]) )/g };

function cutPlace(token: Token): number {
  const places = PLACES[token.type];
  const last = places && [...token.raw.matchAll(places)].slice(-TRIES).findLast((found) => found.index > LONG / 2 && whole(token.raw.slice(0, found.index)));
  return last ? last.index + last[0].length : 0;
}

/** No code span, emphasis or link is left open. */
const whole = (text: string): boolean => count(text, "`") % 2 === 0 && count(text, "*") % 2 === 0 && count(text, "[") === count(text, "]");
const count = (text: string, what: string): number => text.split(what).length - 1;

/** All blocks but the last, which may still grow; a list can continue after an empty line. */
function settledTokens(tokens: Token[]): Token[] {
  const last = tokens.findLastIndex((token) => token.type !== "space");
  return last > 0 ? tokens.slice(0, last) : [];
}

function lex(text: string, links: Links): { tokens: Token[]; links: Links } {
  const tokens = lexed(text, links);
  if (!tokens) return { tokens: [asIs(text)], links };
  // If the tokens do not add up to the text, their positions are unknown: treat it as one block.
  if (tokens.reduce((sum, token) => sum + token.raw.length, 0) !== text.length && tokens.length > 1) return { tokens: [{ type: "whole", raw: text, tokens }], links: tokens.links };
  return { tokens: [...tokens], links: tokens.links };
}

export const AS_IS = "as-is";
const asIs = (text: string): Token => ({ type: AS_IS, raw: text }) as Token;
