// What a suggested rule would allow, in the engine's words, with the parts in backticks drawn as code.

import { visible } from "../../ui/visible";

export function Breadth({ words }: { words: string }) {
  const parts = visible(words).split("`");
  // With an odd number of backticks one belongs to the command, so the text is shown unchanged.
  if (parts.length % 2 === 0) return parts.join("`");
  return parts.map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part));
}
