// Counts lines as editors and `wc` do: a newline ends a line, and a last line without one counts.

export function lineCount(text: string): number {
  const breaks = text.split("\n").length - 1;
  return text === "" || text.endsWith("\n") ? breaks : breaks + 1;
}
