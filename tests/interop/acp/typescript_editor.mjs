// The client side of the official TypeScript SDK of the Agent Client Protocol, for our tests to drive.
//
//     node typescript_editor.mjs SDK COMMAND [ARGS]...
//
// SDK is the path of the package's module. Requests and notifications on standard input are made with the SDK to the agent
// that COMMAND starts; what the agent sends is validated by the SDK and passed on.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(sdk).href);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let numbers = 0;

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const ask = (method) => ({ params }) =>
  new Promise((resolve, reject) => {
    waiting.set(numbers, { resolve, reject });
    write({ id: numbers++, method, params });
  });

const app = acp.client({ name: "test editor" });
for (const method of ["session/request_permission", "elicitation/create", "fs/read_text_file"]) app.onRequest(method, ask(method));
app.onNotification("session/update", ({ params }) => write({ method: "session/update", params }));
const connection = app.connect(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));

async function serve({ id, method, params }) {
  try {
    write({ id, result: (await connection.agent.request(method, params ?? {})) ?? {} });
  } catch (error) {
    write({ id, error: { code: error.code ?? -32603, message: String(error.message ?? error), data: error.data } });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    const { resolve, reject } = waiting.get(message.id);
    if (message.error) reject(new acp.RequestError(message.error.code, message.error.message));
    else resolve(message.result);
  } else if (message.id === undefined) {
    void connection.agent.notify(message.method, message.params);
  } else {
    void serve(message);
  }
}
agent.stdin.end();
