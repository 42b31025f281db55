// Splits a command line into the program and its arguments; null if a quote is not closed. Pure.

const WORD = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:[^\s"'\\]|\\.)+))/y;

export function wordsOfCommand(line: string): string[] | null {
  const words: string[] = [];
  const rest = line.trim();
  let at = 0;
  let glued = false;
  while (at < rest.length) {
    WORD.lastIndex = at;
    const found = WORD.exec(rest);
    if (!found) return null;
    const [all, double, single, bare] = found;
    const word = single ?? (double ?? bare ?? "").replace(/\\(.)/g, "$1");
    glued = words.length > 0 && !/^\s/.test(all);
    if (glued) words[words.length - 1] += word;
    else words.push(word);
    at = WORD.lastIndex;
  }
  return words.length ? words : null;
}
