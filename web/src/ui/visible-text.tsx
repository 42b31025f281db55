// Untrusted text with deceptive characters spelled out and marked. `care`: in prose some of them are legitimate.

import { isDisguised, pieces, type Care } from "./visible";

export function VisibleText({ text, care = "code" }: { text: string; care?: Care }) {
  if (!isDisguised(text, care)) return text;
  return pieces(text, care).map((piece, at) =>
    piece.disguised ? (
      <mark key={at} className="disguised">
        {piece.text}
      </mark>
    ) : (
      piece.text
    ),
  );
}
