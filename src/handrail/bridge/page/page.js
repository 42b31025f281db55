// The plain page: sessions, a transcript, input, allow and deny. What others wrote is only ever text, never markup.

const find = (id) => document.getElementById(id);
const STATES = {
  starting: "starting", idle: "idle", running: "working…", waiting_approval: "needs you", compacting: "compacting…",
  hibernated: "asleep", failed: "failed",
};
const sessions = new Map();
const receipts = new Map();
const seen = new Map(); // by session: the number of the last event
let socket = null, chosen = "", pause = 500, live = null, questions = new Map();

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function notice(text) {
  find("notice").textContent = text;
  find("notice").hidden = !text;
  clearTimeout(notice.timer);
  if (text) notice.timer = setTimeout(() => notice(""), 8000);
}

// Coming in

async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), credentials: "same-origin",
  });
  const fields = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(fields.error?.message ?? `the server said ${answer.status}`), { status: answer.status });
  return fields;
}

function deviceName() {
  const told = navigator.userAgent;
  const browser = [["Edg/", "Edge"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]].find(([mark]) => told.includes(mark));
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find((name) => told.includes(name));
  return `${browser?.[1] ?? "Browser"} on ${system ?? "some system"}`;
}

async function openLink() {
  const link = new URLSearchParams(location.hash.slice(1)).get("link");
  if (!link) return;
  history.replaceState(null, "", location.pathname);
  try {
    await post("/api/login", { link, name: deviceName() });
  } catch (error) {
    notice(`${error.message}. A link is good once: press Enter where the server runs, or use handrail serve --link.`);
  }
}

async function connect() {
  find("link-state").textContent = "connecting…";
  try {
    const { ticket } = await post("/api/tickets", {});
    socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`, ["handrail.v1", `ticket.${ticket}`]);
  } catch (error) {
    if (error.status === 401) {
      find("link-state").textContent = "not let in: open the link that the server printed";
      return;
    }
    return again();
  }
  socket.onopen = () => {
    send({ type: "hello", protocol: 1 });
    send({ type: "watch" });
    tellVisible();
    if (chosen) send({ type: "subscribe", session: chosen, after: seen.get(chosen) ?? 0 });
    for (const { message } of receipts.values()) send(message); // the same id: what was done is not done again
    list();
  };
  socket.onmessage = (message) => take(JSON.parse(message.data));
  socket.onclose = again;
}

function again() {
  socket = null;
  find("link-state").textContent = "connection lost, trying again…";
  setTimeout(connect, pause);
  pause = Math.min(pause * 2, 15000);
}

const send = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
const tellVisible = () => send({ type: "visible", visible: document.visibilityState === "visible" });

function command(name, fields) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const message = { type: "command", id, command: name, fields };
  return new Promise((resolve, reject) => {
    receipts.set(id, { message, resolve, reject });
    send(message);
  }).catch((error) => { notice(error.message); throw error; });
}

async function list() {
  const answer = await fetch("/api/sessions?limit=200", { credentials: "same-origin" }).catch(() => null);
  if (!answer?.ok) return;
  const fields = await answer.json().catch(() => ({}));
  for (const session of fields.sessions ?? []) sessions.set(session.id, session);
  drawList();
}

// What the server says

const SAID = {
  hello(said) {
    pause = 500;
    find("link-state").textContent = "connected";
  },
  subscribed(said) {
    if (said.verdict === "snapshot") clear();
    sessions.set(said.session, said.record);
    drawList();
  },
  events(said) {
    if (said.session !== chosen) return;
    const box = find("transcript"), atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
    for (const event of said.events) {
      if (event.seq) {
        if (event.seq <= (seen.get(chosen) ?? 0)) continue;
        seen.set(chosen, event.seq);
      }
      EVENTS[event.kind]?.(event.data ?? { bytes: event.bytes });
    }
    if (atEnd) box.scrollTop = box.scrollHeight;
  },
  sessions(said) {
    for (const item of said.items) item.deleted ? sessions.delete(item.deleted) : sessions.set(item.session.id, item.session);
    drawList();
  },
  receipt(said) {
    const waiting = receipts.get(said.id);
    receipts.delete(said.id);
    said.ok ? waiting?.resolve(said.result) : waiting?.reject(new Error(said.error.message));
  },
  resync(said) {
    if (said.session) send({ type: "subscribe", session: said.session, after: seen.get(said.session) ?? 0 });
    else { send({ type: "watch" }); list(); }
  },
  error(said) { notice(said.message); },
};
const take = (said) => SAID[said.type]?.(said);

// A transcript

const EVENTS = {
  said(data) { show(make("div", "mine text", words(data.content))); },
  frame(data) { FRAMES[data.type]?.(data); },
  live(data) { streamed(data.event ?? {}); },
  asked(data) { questions.set(data.question, data); drawQuestions(); },
  answered(data) {
    close(data.question, `${data.answer?.behavior === "deny" ? "Denied" : "Allowed"} by ${data.by}`);
  },
  closed(data) { close(data.question, `No longer asked: ${data.why}`); },
  ended(data) { if (data.why) show(make("p", "note bad", `The process ended: ${data.why}`)); },
  crashed(data) { endLive(); show(make("p", "note bad", (data.errors ?? []).join(" "))); },
  lapsed() { show(make("p", "note", "What was allowed for the session is asked again.")); },
  doubted() { show(make("p", "note bad", "Nobody knows whether the last message arrived.")); },
};

const FRAMES = {
  assistant(data) {
    if (!data.parent_tool_use_id) endLive();
    for (const block of data.message?.content ?? []) BLOCKS[block.type]?.(block);
  },
  user(data) {
    const content = data.message?.content;
    if (data.imported && typeof content === "string") show(make("div", "mine text", content));
    if (Array.isArray(content)) for (const block of content) BLOCKS[block.type]?.(block);
  },
  result(data) {
    endLive();
    const cost = data.total_cost_usd ? ` · $${data.total_cost_usd.toFixed(4)}` : "";
    const text = data.is_error ? (data.errors ?? [data.result ?? data.subtype]).join(" ") : "Done";
    show(make("p", data.is_error ? "note bad" : "note", text + cost));
  },
};

const BLOCKS = {
  text(block) { show(make("div", "text", block.text)); },
  tool_use(block) { show(folded(`${block.name} ${short(block.input)}`, JSON.stringify(block.input, null, 2))); },
  tool_result(block) {
    show(folded(block.is_error ? "Failed" : "Result", words(block.content), block.is_error ? "bad" : ""));
  },
};

function words(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}

const short = (input) => String(input?.command ?? input?.file_path ?? input?.pattern ?? input?.description ?? "").slice(0, 200);

function folded(title, text, className = "") {
  const details = make("details"), summary = make("summary", className, title);
  details.append(summary, make("pre", "", text.length > 20000 ? `${text.slice(0, 20000)}…` : text));
  return details;
}

function show(element) { find("transcript").append(element); }

function streamed(event) {
  const text = event.type === "content_block_delta" && event.delta?.type === "text_delta" ? event.delta.text : "";
  const first = event.type === "content_block_start" ? event.content_block?.text ?? "" : "";
  if (!text && !first) return;
  if (!live) { live = make("div", "text"); show(live); }
  live.append(text || first);
}

function endLive() {
  live?.remove();
  live = null;
}

function clear() {
  find("transcript").replaceChildren();
  questions = new Map();
  live = null;
  seen.delete(chosen);
  drawQuestions();
}

// What is asked

function close(id, text) {
  if (questions.delete(id)) { show(make("p", "note", text)); drawQuestions(); }
}

function drawQuestions() {
  find("questions").replaceChildren(...Array.from(questions.values(), questionCard));
}

function questionCard(asked) {
  const card = make("div", "question"), request = asked.request?.request ?? asked.request ?? {};
  const input = request.input ?? {}, choices = [];
  const title = asked.kind === "plan" ? "Is this plan good?" : asked.kind === "questions" ? "The model asks you"
    : asked.kind === "elicitation" ? request.message ?? "A server asks" : `May ${request.tool_name} do this?`;
  card.append(make("p", "", title));
  if (asked.kind === "questions") for (const one of input.questions ?? []) card.append(choice(one, choices));
  else card.append(make("pre", "", asked.kind === "plan" ? String(input.plan ?? "") : JSON.stringify(request.input ?? request, null, 2)));
  const row = make("div", "row"), reason = make("input"), deny = make("button", "deny", "Deny");
  reason.placeholder = "Why not (optional)";
  reason.setAttribute("aria-label", "Why not");
  const allow = make("button", "main", asked.kind === "questions" ? "Answer" : "Allow");
  allow.disabled = true; // what appears under a finger is not yet read
  setTimeout(() => { allow.disabled = false; }, 500);
  allow.onclick = () => answer(asked, { behavior: "allow", ...(choices.length ? { answers: chosenAnswers(choices) } : {}) });
  deny.onclick = () => answer(asked, { behavior: "deny", reason: reason.value });
  row.append(allow, deny, reason);
  card.append(row);
  return card;
}

function choice(one, choices) {
  const set = make("fieldset"), boxes = [];
  set.append(make("legend", "", one.question));
  for (const option of one.options ?? []) {
    const label = make("label"), box = make("input");
    box.type = one.multiSelect ? "checkbox" : "radio";
    box.name = one.question;
    box.value = option.label;
    boxes.push(box);
    label.append(box, `${option.label}${option.description ? ` · ${option.description}` : ""}`);
    set.append(label);
  }
  choices.push([one, boxes]);
  return set;
}

function chosenAnswers(choices) {
  const picked = choices.map(([one, boxes]) => [one.question, boxes.filter((box) => box.checked).map((box) => box.value)]);
  return Object.fromEntries(picked.filter(([, values]) => values.length).map(([text, values]) => [text, values.length > 1 ? values : values[0]]));
}

const answer = (asked, fields) =>
  command("answer", { session: chosen, question: asked.question, hash: asked.hash, ...fields }).catch(() => {});

// The list, and one of it

function drawList() {
  const shown = [...sessions.values()].filter((session) => !session.archived).sort((a, b) => b.changed - a.changed);
  find("sessions").replaceChildren(...shown.map((session) => {
    const button = make("button", session.state === "waiting_approval" ? "waits" : "");
    button.type = "button";
    if (session.id === chosen) button.setAttribute("aria-current", "true");
    button.append(make("strong", "", session.title || "New session"), make("small", "", `${STATES[session.state]} · ${session.cwd}`));
    button.onclick = () => choose(session.id);
    return button;
  }));
  drawHead();
}

function drawHead() {
  const session = sessions.get(chosen);
  find("title").textContent = session ? session.title || "New session" : "No session chosen";
  find("about").textContent = session ? `${STATES[session.state]} · ${session.model || "model not told yet"} · ${session.cwd}` : "";
  find("interrupt").hidden = !session || !["running", "waiting_approval", "compacting"].includes(session.state);
  find("words").disabled = find("say").querySelector("button").disabled = !session;
}

function choose(id) {
  if (chosen && chosen !== id) send({ type: "unsubscribe", session: chosen });
  chosen = id;
  clear();
  document.body.dataset.view = "session";
  send({ type: "subscribe", session: id, after: 0 });
  drawList();
  find("words").focus();
}

find("new").onsubmit = async (submitted) => {
  submitted.preventDefault();
  const made = await command("start", { cwd: find("folder").value.trim() }).catch(() => null);
  if (!made) return;
  sessions.set(made.session.id, made.session);
  choose(made.session.id);
  if (made.trust) notice("This folder's own settings and hooks are left out until you trust them: handrail trust");
};
find("say").onsubmit = async (submitted) => {
  submitted.preventDefault();
  const text = find("words").value;
  if (!text.trim() || !chosen) return;
  find("words").value = "";
  await command("send", { session: chosen, text }).catch(() => { find("words").value ||= text; });
};
find("words").onkeydown = (key) => {
  if (key.key !== "Enter" || key.shiftKey || key.isComposing) return;
  key.preventDefault();
  find("say").requestSubmit();
};
find("interrupt").onclick = () => command("interrupt", { session: chosen }).catch(() => {});
find("back").onclick = () => { document.body.dataset.view = "list"; };
document.addEventListener("visibilitychange", tellVisible);
addEventListener("hashchange", () => openLink().then(() => socket ?? connect()));

await openLink();
connect();
