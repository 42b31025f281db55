// Spells out deceptive characters in untrusted text, for example as ⟨U+202E⟩. Pure.

export interface Piece {
  text: string;
  /** Replaces a character that is invisible or looks like another. */
  disguised: boolean;
}

/** Control characters, direction overrides, tags and unpaired surrogates: never legitimate in displayed text. */
const HARMFUL = "0000-0008 000B-001F 007F-009F 202A-202E 2066-2069 D800-DFFF E0000-E007F";
/** Zero-width characters and unusual spaces: legitimate in prose, but not in a command, a path or code. */
const ODD = "00A0 00AD 034F 061C 115F 1160 1680 17B4 17B5 180B-180F 2000-200F 2028 2029 202F 205F-2065 206A-206F 2800 3000 3164 FE00-FE0F FEFF FFA0 FFF0-FFFB 1D173-1D17A E0080-E01EF";
/** Enough spaces or empty lines in a row to push the text after them out of sight. */
const PUSHED = " {41,}|\\n{9,}";
/** Joiners and variation selectors inside emoji sequences are legitimate. */
const JOINED: Record<string, RegExp> = { "\u200D": /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)$/u, "\uFE0F": /\p{Extended_Pictographic}$/u };

const ranges = (table: string): string => table.replace(/[0-9A-F]+/g, "\\u{$&}").replaceAll(" ", "");
const EACH = { prose: new RegExp(`[${ranges(HARMFUL)}]`, "gu"), code: new RegExp(`[${ranges(HARMFUL)}${ranges(ODD)}]|${PUSHED}`, "gu") };
export type Care = keyof typeof EACH;

const unified = (text: string): string => (text.includes("\r") ? text.replaceAll("\r\n", "\n") : text);

/** Whether the text contains deceptive characters. */
export const isDisguised = (text: string, care: Care = "code"): boolean => unified(text).search(EACH[care]) >= 0 && pieces(text, care).some((piece) => piece.disguised);

export function pieces(text: string, care: Care = "code"): Piece[] {
  const plain = unified(text);
  const out: Piece[] = [];
  let from = 0;
  for (const found of plain.matchAll(EACH[care])) {
    const [what] = found;
    if (JOINED[what]?.test(plain.slice(Math.max(0, found.index - 2), found.index))) continue;
    if (found.index > from) out.push({ text: plain.slice(from, found.index), disguised: false });
    out.push({ text: spelled(what), disguised: true });
    from = found.index + what.length;
  }
  if (from < plain.length) out.push({ text: plain.slice(from), disguised: false });
  return out;
}

/** The text with them spelled out. `oneLine`: line breaks too, for names and titles. */
export function visible(text: string, oneLine = false): string {
  const shown = isDisguised(text)
    ? pieces(text)
        .map((piece) => piece.text)
        .join("")
    : unified(text);
  return oneLine ? shown.replaceAll("\n", spelled("\n")).replaceAll("\t", " ") : shown;
}

function spelled(what: string): string {
  const code = `U+${what.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
  const count = [...what].length;
  return count > 1 ? `⟨${code} ×${count.toLocaleString("en")}⟩` : `⟨${code}⟩`;
}
