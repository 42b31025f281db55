// Replaces Markdown's character references such as `&mdash;` and `&#39;` with their characters, which are always drawn as text. Pure.

const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0", copy: "©", reg: "®", trade: "™", hellip: "…", mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’",
  ldquo: "“", rdquo: "”", laquo: "«", raquo: "»", bull: "•", middot: "·", times: "×", divide: "÷", plusmn: "±", deg: "°", micro: "µ", para: "¶", sect: "§", euro: "€",
  pound: "£", cent: "¢", yen: "¥", larr: "←", uarr: "↑", rarr: "→", darr: "↓", harr: "↔", rArr: "⇒", lArr: "⇐", le: "≤", ge: "≥", ne: "≠", asymp: "≈", infin: "∞",
  sum: "∑", radic: "√", check: "✓", cross: "✗", zwj: "\u200D", zwnj: "\u200C", ensp: "\u2002", emsp: "\u2003", thinsp: "\u2009", lbrace: "{", rbrace: "}", lbrack: "[",
  rbrack: "]", lpar: "(", rpar: ")", num: "#", ast: "*", lowbar: "_", grave: "`", vert: "|", bsol: "\\", sol: "/", colon: ":", semi: ";", comma: ",", period: ".",
  Tab: "\t", NewLine: "\n", pi: "π", alpha: "α", beta: "β", gamma: "γ", delta: "δ", Delta: "Δ", lambda: "λ", mu: "μ", sigma: "σ", omega: "ω",
};

export function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]\w{1,31}));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (name) return Object.hasOwn(NAMED, name) ? NAMED[name]! : whole;
    const code = hex ? parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\uFFFD";
  });
}
