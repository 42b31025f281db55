// Pieces of the page. What others wrote is only ever text, never markup.

export const find = (id) => document.getElementById(id);

export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

export function button(text, className, press) {
  const element = make("button", className, text);
  element.type = "button";
  element.onclick = press;
  return element;
}

let fading = 0;
export function notice(text) {
  find("notice").textContent = text;
  find("notice").hidden = !text;
  clearTimeout(fading);
  if (text) fading = setTimeout(() => notice(""), 8000);
}

// Signs that cannot be seen, or that turn the text around, are named: nobody allows what he cannot read.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;
export const visible = (text) =>
  text.replace(UNSEEN, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

export function folded(title, text, className = "") {
  const details = make("details"), summary = make("summary", className, title);
  details.append(summary, make("pre", "", text.length > 20000 ? `${text.slice(0, 20000)}…` : text));
  return details;
}
