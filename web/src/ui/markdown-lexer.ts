// The lexer of `marked` with a bound on its work, for untrusted text. Parts that would block the page are left as plain text: 20,000
// characters of "*a " took `marked` 15 seconds.

import { Lexer, type Links, type Token, type TokensList } from "marked";

/** Longer text is shown as plain text. */
const MOST = 200_000;
/** Markers of nested lists and quotes at the start of a line, deeper than in real text. */
const DEEP = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){20}/m;
/** Task list items: `marked` searches the rest of the text for each of them. */
const TICKED = /^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\]/gm;
const MOST_TICKED = 2000;

/** Budgets for the inline text of a document and of one paragraph; a unit is about a microsecond. */
const WORK = 200_000;
const WORK_OF_ONE = 60_000;

/** `marked` searches the rest of the text for each emphasis mark, and scans a run of blanks again from every position. */
function workOf(words: string): number {
  const marks = words.match(/[*_]+|~+/g)?.length ?? 0;
  const others = words.match(/[[\]<!`&(\\@:]/g)?.length ?? 0;
  const blanks = words.match(/\s{40,}/g)?.reduce((sum, run) => sum + run.length * run.length, 0) ?? 0;
  return (marks * words.length) / 9 + (others * words.length) / 1000 + blanks / 100;
}

class CarefulLexer extends Lexer {
  #left = WORK;

  override inlineTokens(words: string, tokens: Token[] = []): Token[] {
    const work = workOf(words);
    if (work > WORK_OF_ONE || work > this.#left) {
      tokens.push({ type: "text", raw: words, text: words, escaped: false });
      return tokens;
    }
    this.#left -= work;
    return super.inlineTokens(words, tokens);
  }
}

/** The tokens, or null if the text is shown as plain text. `links`: definitions from earlier blocks. */
export function lexed(text: string, links: Links): TokensList | null {
  if (text.length > MOST || DEEP.test(text) || (text.match(TICKED)?.length ?? 0) > MOST_TICKED) return null;
  try {
    const lexer = new CarefulLexer({ gfm: true, breaks: true });
    Object.assign(lexer.tokens.links, links);
    return lexer.lex(text);
  } catch {
    return null; // stack overflow: nested too deeply
  }
}
