// How much a suggestion would allow, in the engine's words. In: words with code between backticks. Out: the same with code drawn as code.

import { visible } from "../../ui/visible";

export function Breadth({ words }: { words: string }) {
  const parts = visible(words).split("`");
  // An odd backtick is one of the command itself: then all is shown as it came.
  if (parts.length % 2 === 0) return parts.join("`");
  return parts.map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part));
}
