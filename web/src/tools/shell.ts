// Counts the commands in a shell command, for display only; permission rules do not use it. Pure.

/** Commands end at unquoted ; & | and line breaks. */
export function commandCount(command: string): number {
  const bare = command.replace(/\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"/g, "x");
  return bare.split(/\|\||&&|[;\n|]|(?<![<>&\d])&(?![>&\d])/).filter((part) => part.trim() && !part.trim().startsWith("#")).length;
}
