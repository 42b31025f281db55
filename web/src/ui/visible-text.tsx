// Text of others, with what deceives the eye spelled out and marked. `care`: in prose some of that has its use.

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
