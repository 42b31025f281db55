// Syntax highlighting: code to lines of coloured pieces. The highlighter's events are collected instead of HTML. It is loaded on first use,
// and results are cached.

import type { Emitter, HLJSApi } from "highlight.js";
import { useEffect, useState } from "react";

import { INSIDE, LANGUAGES } from "./languages";

export interface Piece {
  text: string;
  /** The class of the colour, or "". */
  look: string;
}

/** Longer code is not coloured, as that would block the page. */
const MOST = 60_000;
/** Such a long run of letters and spaces is not code, and some grammars scan it again from every position. */
const ENDLESS = /[\w\s.$-]{500}/;
const KEPT = 60;

const LOOKS: Record<string, string> = {
  keyword: "keyword", operator: "", literal: "number", number: "number", built_in: "type", type: "type", class: "type", symbol: "number", regexp: "string", string: "string",
  char: "string", subst: "", comment: "comment", doctag: "comment", meta: "comment", quote: "comment", title: "name", function: "name", section: "name", tag: "keyword",
  name: "keyword", attr: "name", attribute: "name", variable: "type", property: "name", "selector-tag": "keyword", "selector-id": "name", "selector-class": "name",
  "selector-attr": "string", "selector-pseudo": "keyword", "template-tag": "keyword", "template-variable": "type", bullet: "keyword", code: "string", link: "string",
  formula: "string", strong: "strong", emphasis: "emphasis", addition: "added", deletion: "removed", params: "", punctuation: "",
};

const lookOf = (scope: string | undefined): string => (scope && LOOKS[scope.split(".")[0]!]) || "";

/** Collects the highlighter's events by line. */
class Lines implements Emitter {
  readonly lines: Piece[][] = [[]];
  #scopes: string[] = [];

  addText(text: string): void {
    const look = lookOf(this.#scopes.findLast((scope) => lookOf(scope)));
    for (const [at, line] of text.split("\n").entries()) {
      if (at > 0) this.lines.push([]);
      if (line) this.lines.at(-1)!.push({ text: line, look });
    }
  }
  openNode(name: string): void {
    this.#scopes.push(name);
  }
  closeNode(): void {
    this.#scopes.pop();
  }
  // Its types use these names for the two methods above.
  startScope(name: string): void {
    this.openNode(name);
  }
  endScope(): void {
    this.closeNode();
  }
  __addSublanguage(other: Emitter): void {
    for (const [at, line] of (other as Lines).lines.entries()) {
      if (at > 0) this.lines.push([]);
      this.lines.at(-1)!.push(...line);
    }
  }
  finalize(): void {}
  toHTML(): string {
    return "";
  }
}

let core: Promise<HLJSApi> | undefined;
const loaded = new Map<string, Promise<void>>();

async function ready(language: string): Promise<HLJSApi> {
  core ??= import("highlight.js/lib/core").then(({ default: api }) => {
    api.configure({ __emitter: Lines });
    return api;
  });
  const api = await core;
  for (const name of [language, ...(INSIDE[language] ?? [])]) {
    if (!loaded.has(name)) loaded.set(name, LANGUAGES[name]!().then(({ default: grammar }) => api.registerLanguage(name, grammar)));
    await loaded.get(name);
  }
  return api;
}

const kept = new Map<string, Piece[][]>();

/** The coloured lines; null if the code cannot be highlighted. */
export async function highlight(code: string, language: string): Promise<Piece[][] | null> {
  if (!Object.hasOwn(LANGUAGES, language) || code.length > MOST || ENDLESS.test(code)) return null;
  const key = `${language}\n${code}`;
  const known = kept.get(key);
  if (known) return known;
  const api = await ready(language);
  const { _emitter: told } = api.highlight(code, { language, ignoreIllegals: true });
  const { lines } = told as Lines;
  kept.set(key, lines);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value!);
  return lines;
}

/** The same as a hook: null until the colours are available. */
export function useHighlighted(code: string, language: string, wanted: boolean): Piece[][] | null {
  const key = `${language}\n${code}`;
  const [shown, setShown] = useState<{ key: string; lines: Piece[][] } | null>(null);
  const known = kept.get(key) ?? (shown?.key === key ? shown.lines : null);
  useEffect(() => {
    if (!wanted || !language || known) return undefined;
    let here = true;
    highlight(code, language).then(
      (lines) => here && lines && setShown({ key, lines }),
      () => {}, // the chunk could not be loaded: stay uncoloured
    );
    return () => {
      here = false;
    };
  }, [code, language, wanted, known, key]);
  return wanted ? known : null;
}
