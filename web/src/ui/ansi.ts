// Converts terminal output with escape sequences to styled lines in the page's colours. Sequences that move the cursor, query the terminal,
// copy or link are dropped. A single pass over any input. Pure.

export interface Piece {
  text: string;
  /** Classes: "ansi-red ansi-bold". */
  look: string;
}

interface Pen {
  ink: string;
  paper: string;
  bold: boolean;
  faint: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const BLANK: Pen = { ink: "", paper: "", bold: false, faint: false, italic: false, underline: false, strike: false, inverse: false };

const SWITCHES: Record<number, Partial<Pen>> = {
  0: BLANK, 1: { bold: true }, 2: { faint: true }, 3: { italic: true }, 4: { underline: true }, 7: { inverse: true }, 9: { strike: true }, 21: { underline: true },
  22: { bold: false, faint: false }, 23: { italic: false }, 24: { underline: false }, 27: { inverse: false }, 29: { strike: false }, 39: { ink: "" }, 49: { paper: "" },
};

// CSI (also as a single byte), OSC, DCS and similar strings, and two-byte escapes. An unterminated sequence extends to the end.
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- escape sequences are control characters
  /(?:\u001B\[|\u009B)([0-?]*)[ -/]*([@-~]?)|(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u009C]*(?:\u0007|\u001B\\|\u009C)?|\u001B[ -/]*[0-~]?/g;
// oxlint-disable-next-line no-control-regex -- bells and similar control characters are dropped
const SILENT = /[\u0000-\u0007\u000B\u000C\u000E-\u001A\u001C-\u001F\u007F]/g;

export function terminal(output: string): Piece[][] {
  const sheet = new Sheet();
  let from = 0;
  for (const found of output.matchAll(SEQUENCE)) {
    if (found.index > from) sheet.write(output.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === "m") sheet.pen = turned(sheet.pen, found[1] ?? "");
    else if (found[2] === "K") sheet.erase(found[1] ?? "");
  }
  sheet.write(output.slice(from));
  return sheet.lines.map((line) => line.filter((piece) => piece.text));
}

/** The text without styles. */
export const unstyled = (output: string): string => terminal(output).map((line) => line.map((piece) => piece.text).join("")).join("\n");

/** The lines written so far. A carriage return restarts the line, as progress bars do. */
class Sheet {
  readonly lines: Piece[][] = [[]];
  pen: Pen = BLANK;
  #again = false;

  write(text: string): void {
    for (const [at, line] of text.replaceAll("\r\n", "\n").split("\n").entries()) {
      if (at > 0) {
        this.lines.push([]);
        this.#again = false;
      }
      for (const [turn, part] of line.split("\r").entries()) {
        if (turn > 0) this.#again = true; // keep the line until something is written over it
        this.#put(part);
      }
    }
  }

  erase(how: string): void {
    if (how === "2" || this.#again) this.lines[this.lines.length - 1] = [];
  }

  #put(part: string): void {
    const text = unstruck(part.replace(SILENT, ""));
    if (!text) return;
    // A terminal would keep the end of a longer line. Progress bars never intend that, so the line is cleared.
    if (this.#again) this.lines[this.lines.length - 1] = [];
    this.#again = false;
    const line = this.lines.at(-1)!;
    const look = looks(this.pen);
    const last = line.at(-1);
    if (last?.look === look) last.text += text;
    else line.push({ text, look });
  }
}

/** A backspace removes the character before it. */
function unstruck(text: string): string {
  if (!text.includes("\b")) return text;
  const out: string[] = [];
  for (const character of text) {
    if (character === "\b") out.pop();
    else out.push(character);
  }
  return out.join("");
}

function turned(pen: Pen, told: string): Pen {
  const codes = told.slice(0, 100).split(/[;:]/).map(Number);
  let next = pen;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at]!;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(at + 1));
      next = { ...next, [code === 38 ? "ink" : "paper"]: colour };
      at += used;
    } else next = { ...next, ...(SWITCHES[code] ?? plainColour(code)) };
  }
  return next;
}

function plainColour(code: number): Partial<Pen> {
  const colour = COLOURS[code % 10] ?? "";
  const tens = Math.floor(code / 10);
  if (tens === 3 || tens === 9) return { ink: colour };
  return tens === 4 || tens === 10 ? { paper: colour } : {};
}

/** Maps 256-colour and true-colour codes to the nearest colour of the page. Returns the colour and how many numbers it consumed. */
function extended(codes: number[]): [string, number] {
  if (codes[0] === 5) return [indexed(codes[1] ?? 0), 2];
  if (codes[0] === 2) return [nearest(codes[1] ?? 0, codes[2] ?? 0, codes[3] ?? 0), 4];
  return ["", 1];
}

function indexed(index: number): string {
  if (index < 16) return COLOURS[index % 8]!;
  if (index >= 232) return index < 244 ? "black" : "white";
  const cube = index - 16;
  return nearest(Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51);
}

function nearest(red: number, green: number, blue: number): string {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 40) return most < 128 ? "black" : "white";
  const half = (most + least) / 2;
  return COLOURS[(red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0)]!;
}

function looks(pen: Pen): string {
  const { ink, paper } = pen.inverse ? { ink: pen.paper || "paper", paper: pen.ink || "ink" } : pen;
  const names = [ink, paper && `on-${paper}`, pen.bold && "bold", pen.faint && "faint", pen.italic && "italic", pen.underline && "underline", pen.strike && "strike"];
  return names.filter(Boolean).map((name) => `ansi-${name}`).join(" ");
}
