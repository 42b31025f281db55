// Splits a text at the words searched for, so that they can be highlighted. Pure.

export interface Piece {
  text: string;
  found: boolean;
}

export function marked(text: string, query: string): Piece[] {
  const wanted = query.match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (wanted.length === 0) return [{ text, found: false }];
  const beginnings = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${wanted.toSorted((a, b) => b.length - a.length).join("|")})`, "giu");
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: word, index } of text.matchAll(beginnings)) {
    if (index > from) pieces.push({ text: text.slice(from, index), found: false });
    pieces.push({ text: word, found: true });
    from = index + word.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), found: false });
  return pieces;
}
