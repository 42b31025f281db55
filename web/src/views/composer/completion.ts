// Completion at the caret: which token is being typed, and what completing it does to the text. Pure.

export interface Token {
  kind: "slash" | "mention";
  query: string;
  /** Its range in the text, including the / or @. */
  from: number;
  to: number;
}

/** A command is the first word of a message; a mention follows whitespace. */
export function tokenAt(text: string, caret: number): Token | null {
  const before = text.slice(0, caret);
  const slash = /^\/([\w:.-]*)$/.exec(before);
  if (slash) return { kind: "slash", query: slash[1]!, from: 0, to: end(text, caret) };
  const mention = /(?:^|\s)@("?)([^\s"]*|[^"\n]*)$/.exec(before);
  if (!mention || (mention[1] === "" && /\s/.test(mention[2]!))) return null;
  return { kind: "mention", query: mention[2]!, from: caret - mention[2]!.length - mention[1]!.length - 1, to: end(text, caret) };
}

/** The rest of the word is replaced too. */
function end(text: string, caret: number): number {
  return caret + (/^[^\s]*/.exec(text.slice(caret))?.[0].length ?? 0);
}

/** The text with the token replaced, and the new position of the caret. */
export function completed(text: string, token: Token, value: string): { text: string; caret: number } {
  const rest = text.slice(token.to);
  const put = rest.startsWith(" ") || value.endsWith("/") ? value : `${value} `;
  return { text: text.slice(0, token.from) + put + rest, caret: token.from + put.length };
}

/** A path as a mention, quoted if it contains whitespace. */
export const mentionOf = (path: string): string => (/[\s"]/.test(path) ? `@"${path}"` : `@${path}`);
