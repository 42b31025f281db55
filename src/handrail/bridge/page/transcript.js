// What was said and done in one session, in its order.

import { find, folded, make } from "./element.js";

let live = null; // the answer that is being given

const show = (element) => { find("transcript").append(element); return element; };
export const note = (text, className = "") => show(make("p", `note ${className}`, text));

export function endLive() {
  live?.remove();
  live = null;
}

export function clear() {
  find("transcript").replaceChildren();
  live = null;
}

export const EVENTS = {
  said(data) { show(make("div", "mine text", words(data.content))); },
  withdrawn() { note("Taken back before it was sent."); },
  frame(data) { if (data.bytes) note(`Something of ${data.bytes} bytes, too large for this page.`); else FRAMES[data.type]?.(data); },
  live(data) { if (!data.parent_tool_use_id) streamed(data.event ?? {}); },
  ended(data) { if (data.why) note(`The process ended: ${data.why}`, "bad"); },
  crashed(data) { endLive(); note((data.errors ?? []).join(" "), "bad"); },
  doubted() { note("Nobody knows whether the last message arrived.", "bad"); },
};

const FRAMES = {
  assistant(data) {
    if (!data.parent_tool_use_id) endLive();
    blocks(data, data.message?.content);
  },
  user(data) {
    const content = data.message?.content;
    if (data.imported && !data.isMeta && typeof content === "string") show(make("div", "mine text", content));
    // What was said here is told by an event of its own: of other lines only results are shown.
    const known = Array.isArray(content) ? content.filter((block) => data.imported || block.type === "tool_result") : [];
    blocks(data, known);
  },
  result(data) {
    endLive();
    const cost = data.total_cost_usd ? ` · $${data.total_cost_usd.toFixed(4)}` : "";
    const text = data.is_error ? (data.errors ?? [data.result ?? data.subtype]).join(" ") : "Done";
    note(text + cost, data.is_error ? "bad" : "");
  },
};

function blocks(data, content) {
  for (const block of Array.isArray(content) ? content : []) {
    const element = BLOCKS[block.type]?.(block);
    if (element && data.parent_tool_use_id) element.classList.add("sub");
  }
}

const BLOCKS = {
  text: (block) => show(make("div", "text", block.text)),
  tool_use: (block) => show(folded(`${block.name} ${short(block.input)}`, JSON.stringify(block.input, null, 2))),
  tool_result: (block) =>
    show(folded(block.is_error ? "Failed" : "Result", words(block.content), block.is_error ? "bad" : "")),
};

function words(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}

const short = (input) => String(input?.command ?? input?.file_path ?? input?.pattern ?? input?.description ?? "").slice(0, 200);

function streamed(event) {
  const text = event.type === "content_block_delta" && event.delta?.type === "text_delta" ? event.delta.text : "";
  const first = event.type === "content_block_start" ? event.content_block?.text ?? "" : "";
  if (!text && !first) return;
  live ??= show(make("div", "text"));
  live.append(text || first);
}
