// The plain page: sessions, a transcript, input, devices, allow and deny. What others wrote is only ever text, never markup.

import { drawDevices } from "./devices.js";
import { button, find, make, notice } from "./element.js";
import { ask, askTrust, clearQuestions, close, rulesOf } from "./questions.js";
import { clear, endLive, EVENTS, note } from "./transcript.js";

const STATES = {
  starting: "starting", idle: "idle", running: "working…", waiting_approval: "needs you", compacting: "compacting…",
  hibernated: "asleep", failed: "failed",
};
const NEWEST = 3000; // so many events are shown of a long session
const SILENCE = 75000; // the server is heard twice a minute, or is no longer there
const sessions = new Map(), terminal = new Map();
const receipts = new Map();
const seen = new Map(); // by session: the number of the last event
let socket = null, chosen = "", pause = 500, retry = 0, silence = 0, connecting = false;

// Coming in

async function fetched(path, options = {}) {
  const answer = await fetch(path, { credentials: "same-origin", ...options });
  const fields = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(fields.error?.message ?? `the server said ${answer.status}`), { status: answer.status });
  return fields;
}

const post = (path, body) =>
  fetched(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

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
  clearTimeout(retry);
  if (socket || connecting) return;
  connecting = true;
  tell("connecting…");
  try {
    const { ticket } = await post("/api/tickets", {});
    socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`, ["handrail.v1", `ticket.${ticket}`]);
  } catch (error) {
    if (error.status === 401) return tell("not let in: open the link that the server printed");
    return again();
  } finally {
    connecting = false;
  }
  socket.onopen = () => {
    send({ type: "hello", protocol: 1 });
    send({ type: "watch" });
    tellVisible();
    if (chosen) subscribe();
    for (const { message } of receipts.values()) send(message); // the same id: what was done is not done again
    list();
  };
  socket.onmessage = (message) => {
    listen();
    const said = JSON.parse(message.data);
    SAID[said.type]?.(said);
  };
  socket.onclose = again;
}

function again() {
  clearTimeout(silence);
  socket = null;
  tell("connection lost, trying again…");
  retry = setTimeout(connect, pause);
  pause = Math.min(pause * 2, 15000);
}

// A connection that died without a word is given up, and made anew.
function listen() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    if (!socket) return;
    socket.onclose = socket.onmessage = null;
    socket.close();
    again();
  }, SILENCE);
}

const tell = (text) => { find("link-state").textContent = text; };
const send = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
const tellVisible = () => send({ type: "visible", visible: document.visibilityState === "visible" });
const subscribe = () => send({ type: "subscribe", session: chosen, after: seen.get(chosen) ?? 0, tail: NEWEST });

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
  const told = await fetched("/api/sessions?limit=200&terminal=true").catch(() => null);
  const { folders = [] } = await fetched("/api/folders").catch(() => ({}));
  if (told) {
    const there = new Set(told.sessions.map((session) => session.id));
    for (const id of [...sessions.keys()]) if (!there.has(id) && there.size < 200) sessions.delete(id);
    for (const session of told.sessions) if (!(sessions.get(session.id)?.changed > session.changed)) sessions.set(session.id, session);
    terminal.clear();
    for (const one of told.terminal ?? []) terminal.set(one.id, one);
    drawList();
  }
  const known = new Set([...folders, ...[...sessions.values()].map((session) => session.cwd)]);
  find("folders").replaceChildren(...Array.from(known, (folder) => new Option("", folder)));
  find("folder").value ||= folders[0] ?? "";
}

// What the server says

const SAID = {
  hello() {
    pause = 500;
    tell("connected");
  },
  subscribed(said) {
    if (said.verdict === "snapshot") {
      forget(said.session);
      note(`Shown from here on: ${said.reason}.`);
    }
    endLive(); // the answer so far comes anew
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
      const data = event.data ?? { bytes: event.bytes };
      (ASKED[event.kind] ?? EVENTS[event.kind])?.(data);
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
    if (!said.session) { send({ type: "watch" }); list(); } else if (said.session === chosen) subscribe();
  },
  error(said) { notice(said.message); },
};

const ASKED = {
  asked(data) {
    const session = chosen;
    ask(data, (fields) => command("answer", { session, question: data.question, hash: data.hash, ...fields }).catch(() => {}));
  },
  answered(data) {
    if (close(data.question)) note(`${data.answer?.behavior === "deny" ? "Denied" : "Allowed"} by ${data.by}`);
  },
  closed(data) { if (close(data.question)) note(`No longer asked: ${data.why}`); },
  silent(data) { note(`Nothing was heard for ${data.seconds} seconds: wait, or interrupt it.`); },
  lapsed(data) {
    const gone = [...(data.rules ?? []).map(rulesOf), data.mode && `the mode ${data.mode}`].filter(Boolean);
    if (gone.length) note(`With the last process ended what held for the session: ${gone.join(", ")}`);
  },
};

function forget(session) {
  if (session !== chosen) return;
  clear();
  clearQuestions();
  seen.delete(chosen);
}

// The list, and one of it

function drawList() {
  const shown = [...sessions.values()].filter((session) => !session.archived).sort((a, b) => b.changed - a.changed);
  const others = [...terminal.values()].filter((one) => !sessions.has(one.id)).slice(0, 50);
  find("sessions").replaceChildren(
    ...shown.map((session) => entry(session, STATES[session.state], () => choose(session.id))),
    ...others.map((one) => entry(one, "in the terminal", () => started("resume", { session: one.id }))),
  );
  const waiting = shown.filter((session) => session.state === "waiting_approval").length;
  document.title = waiting ? `(${waiting}) Handrail` : "Handrail";
  drawHead();
}

function entry(session, state, press) {
  const element = button(undefined, session.state === "waiting_approval" ? "waits" : "", press);
  if (session.id === chosen) element.setAttribute("aria-current", "true");
  element.append(make("strong", "", session.title || "New session"), make("small", "", `${state} · ${session.cwd}`));
  return element;
}

function drawHead() {
  const session = sessions.get(chosen);
  find("title").textContent = session ? session.title || "New session" : "No session chosen";
  const parts = session ? [STATES[session.state], session.error, session.model, session.cwd] : [];
  find("about").textContent = parts.filter(Boolean).join(" · ");
  find("interrupt").hidden = !session || !["running", "waiting_approval", "compacting"].includes(session.state);
  find("again").hidden = !session?.lapsed.length;
  find("again").title = (session?.lapsed ?? []).map(rulesOf).join(", ");
  find("trust").hidden = !session || session.trusted;
  find("words").disabled = find("say").querySelector("button").disabled = !session;
  document.querySelector("main").classList.toggle("chosen", Boolean(session));
}

function choose(id) {
  if (chosen && chosen !== id) send({ type: "unsubscribe", session: chosen });
  chosen = id;
  forget(id);
  document.body.dataset.view = "session";
  subscribe();
  drawList();
  find("words").focus();
}

// Start, resume: the session that a command gives is looked at, and whether its folder is trusted is asked.
async function started(name, fields) {
  const made = await command(name, fields).catch(() => null);
  if (!made) return;
  const { session, trust } = made;
  sessions.set(session.id, session);
  if (session.id !== chosen) choose(session.id);
  if (trust) askTrust(trust, (digest) => command("accept_trust", { session: session.id, digest }).then(() => note("Trusted: it counts from the next message on.")));
}

find("new").onsubmit = async (submitted) => {
  submitted.preventDefault();
  submitted.submitter.disabled = true; // one press, one session
  await started("start", { cwd: find("folder").value.trim() });
  submitted.submitter.disabled = false;
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
find("again").onclick = () => command("grant_again", { session: chosen }).catch(() => {});
find("trust").onclick = () => started("resume", { session: chosen });
find("devices").ontoggle = () => { if (find("devices").open) drawDevices(fetched); };
find("back").onclick = () => { document.body.dataset.view = "list"; };
document.addEventListener("visibilitychange", () => {
  tellVisible();
  if (document.visibilityState === "visible") connect();
});
addEventListener("online", connect);
addEventListener("hashchange", () => openLink().then(connect));

await openLink();
connect();
