// What waits for an answer: permissions, questions of the model, plans, forms, and whether a folder is trusted.

import { button, find, make, notice, visible } from "./element.js";

const ARMED_AFTER = 500; // what appears under a finger is not yet read
const MODES = { acceptEdits: "accept edits without asking", plan: "only plan", default: "ask as usual" };
const cards = new Map();

export function clearQuestions() {
  cards.clear();
  find("questions").replaceChildren();
}

export function ask(asked, reply) { put(asked.question, questionCard(asked, reply)); }

// Out: whether it was open.
export function close(id) {
  cards.get(id)?.remove();
  return cards.delete(id);
}

function put(id, card) {
  close(id);
  cards.set(id, card);
  find("questions").append(card);
}

// A yes takes effect only after its card has been there for a moment.
function yes(text, press, className = "main") {
  const element = button(text, className, press);
  element.disabled = true;
  setTimeout(() => { element.disabled = false; }, ARMED_AFTER);
  return element;
}

function field(name, value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const part = make("div", "field");
  part.append(make("small", "", visible(name)), make("pre", "", visible(text)));
  return part;
}

function rowOf(elements) {
  const row = make("div", "row lasting");
  row.append(...elements);
  return row;
}

function questionCard(asked, reply) {
  const card = make("div", "question"), request = asked.request?.request ?? asked.request ?? {};
  const kind = KINDS[asked.kind] ?? KINDS.permission, row = make("div", "row");
  const { title, parts, answers, lasting = [], no = "Deny" } = kind(request, reply);
  const reason = make("input");
  reason.placeholder = "Why not (optional)";
  reason.setAttribute("aria-label", "Why not");
  row.append(...answers, button(no, "deny", () => reply({ behavior: "deny", reason: reason.value })), reason);
  card.append(make("p", "", visible(title)), ...parts, row);
  if (lasting.length) card.append(rowOf(lasting));
  return card;
}

const KINDS = {
  permission(request, reply) {
    const said = [request.decision_reason, request.blocked_path && `It concerns ${request.blocked_path}.`].filter(Boolean);
    return {
      title: `May ${request.tool_name} do this?`,
      parts: [
        ...Object.entries(request.input ?? {}).map(([name, value]) => field(name, value)),
        ...said.map((text) => make("p", "note", visible(String(text)))),
      ],
      answers: [yes("Allow", () => reply({ behavior: "allow" }))],
      lasting: offered(request, reply),
    };
  },
  plan(request, reply) {
    const go = (mode) => () => reply({ behavior: "allow", mode });
    return {
      title: "Is this plan good?",
      parts: [field("plan", String(request.input?.plan ?? "The plan is in a file; the transcript tells which."))],
      answers: [yes("Go on, ask before edits", go("default")), yes("Go on, accept edits", go("acceptEdits"))],
      no: "Keep planning",
    };
  },
  questions(request, reply) {
    const asked = (request.input?.questions ?? []).map(choice);
    const answer = () => {
      const said = asked.map((one) => [one.text, one.chosen()]);
      if (said.some(([, chosen]) => !chosen.length)) return notice("Choose an answer to each question first.");
      reply({ behavior: "allow", answers: Object.fromEntries(said.map(([text, chosen]) => [text, chosen.length > 1 ? chosen : chosen[0]])) });
    };
    return { title: "The model asks you", parts: asked.map((one) => one.set), answers: [yes("Answer", answer)], no: "Do not answer" };
  },
  elicitation(request, reply) {
    const form = Object.entries(request.requested_schema?.properties ?? {}).map(entry);
    const content = () => Object.fromEntries(form.map((one) => [one.name, one.value()]).filter(([, value]) => value !== ""));
    return {
      title: `${request.mcp_server_name ?? "A server"} asks: ${request.message ?? ""}`,
      parts: [...form.map((one) => one.label), ...(request.url ? [field("address", request.url)] : [])],
      answers: [yes("Answer", () => reply({ behavior: "allow", ...(form.length ? { content: content() } : {}) }))],
    };
  },
};

// What the CLI offers to remember, each for this session only; never a mode that asks nothing any more.
function offered(request, reply) {
  return (request.permission_suggestions ?? []).flatMap((one, index) => {
    const words = suggestionWords(one);
    return words ? [yes(`Allow, and in this session ${visible(words)}`, () => reply({ behavior: "allow", updates: [{ index }] }), "")] : [];
  });
}

export const rulesOf = (update) =>
  (update.rules ?? []).map((rule) => (rule.ruleContent ? `${rule.toolName}(${rule.ruleContent})` : `every ${rule.toolName}`)).join(", ");

function suggestionWords(one) {
  if (one.type === "addRules" && one.behavior === "allow" && one.rules?.length) return `always allow ${rulesOf(one)}`;
  if (one.type === "addDirectories") return `work in ${(one.directories ?? []).join(", ")} too`;
  if (one.type === "setMode" && MODES[one.mode]) return MODES[one.mode];
  return "";
}

function choice(one) {
  const set = make("fieldset"), boxes = [], other = make("input");
  set.append(make("legend", "", visible(String(one.question))));
  for (const option of one.options ?? []) {
    const label = make("label"), box = make("input");
    Object.assign(box, { type: one.multiSelect ? "checkbox" : "radio", name: one.question, value: option.label });
    boxes.push(box);
    label.append(box, visible(`${option.label}${option.description ? ` · ${option.description}` : ""}`));
    set.append(label);
  }
  other.placeholder = "Or in your own words";
  other.setAttribute("aria-label", "An answer in your own words");
  set.append(other);
  const chosen = () => {
    const picked = boxes.filter((box) => box.checked).map((box) => box.value), own = other.value.trim();
    return own ? (one.multiSelect ? [...picked, own] : [own]) : picked;
  };
  return { text: one.question, set, chosen };
}

function entry([name, schema]) {
  const label = make("label", "entry"), input = make(schema.enum ? "select" : "input");
  const flag = schema.type === "boolean", number = ["number", "integer"].includes(schema.type);
  if (schema.enum) for (const one of schema.enum) input.append(new Option(String(one)));
  else input.type = flag ? "checkbox" : number ? "number" : "text";
  label.append(make("span", "", visible(schema.title ?? name)), input);
  const value = () => (flag ? input.checked : number && input.value !== "" ? Number(input.value) : input.value);
  return { name, label, value };
}

// Whether what a folder's own files would run may count.
export function askTrust(trust, accept) {
  const card = make("div", "question"), row = make("div", "row"), list = make("div", "field");
  for (const one of trust.items) {
    const where = one.line ? `${one.path}:${one.line}` : one.path;
    list.append(make("small", "", visible(`${one.kind} ${one.name} · ${where}`)), make("pre", "", visible(one.text)));
  }
  if (!trust.complete) list.append(make("p", "note bad", "There is more that could not be read."));
  row.append(
    yes("Trust this folder", () => accept(trust.digest).then(() => close("trust"), () => {})),
    button("Leave them out", "", () => close("trust")),
  );
  card.append(make("p", "", "This folder has settings of its own that would run the following. Until you trust it, they are left out."), list, row);
  put("trust", card);
}
