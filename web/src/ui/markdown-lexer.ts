// marked, with a limit to the work that a text can make. In: text of anybody. Out: its tokens; what would hold the page up for seconds is left
// as the text that it is. Twenty thousand characters of "*a " took marked a quarter of a minute.

import { Lexer, type Links, type Token, type TokensList } from "marked";

/** What is longer is shown as it is: nobody reads it. */
const MOST = 200_000;
/** Marks of nested lists and quotes at the beginning of one line: nobody nests so deep. */
const DEEP = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){20}/m;
/** Items with a box to tick: each is searched for in all that follows. */
const TICKED = /^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\]/gm;
const MOST_TICKED = 2000;

/** How much work the words of one text may make, and those of one paragraph; a unit is about a microsecond. */
const WORK = 200_000;
const WORK_OF_ONE = 60_000;

/** Each mark of emphasis is looked for in all that follows it, and a run of blanks is read again from each of its places. */
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

/** Out: null where the text is better shown as it is. `links`: those that are explained elsewhere. */
export function lexed(text: string, links: Links): TokensList | null {
  if (text.length > MOST || DEEP.test(text) || (text.match(TICKED)?.length ?? 0) > MOST_TICKED) return null;
  try {
    const lexer = new CarefulLexer({ gfm: true, breaks: true });
    Object.assign(lexer.tokens.links, links);
    return lexer.lex(text);
  } catch {
    return null; // nested deeper than its stack is high
  }
}
