// A command as far as its looks go. In: a shell's command. Out: how many commands it is; a number for the eye, no rule of permission. Pure.

/** Commands end at ; & | and line breaks that stand outside of quotes. */
export function commandCount(command: string): number {
  const bare = command.replace(/\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"/g, "x");
  return bare.split(/\|\||&&|[;\n|]|(?<![<>&\d])&(?![>&\d])/).filter((part) => part.trim() && !part.trim().startsWith("#")).length;
}
