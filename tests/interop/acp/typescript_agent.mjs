// The agent side of the official TypeScript SDK of the Agent Client Protocol, with a scripted agent behind it.
//
//     node typescript_agent.mjs SDK COMMAND [ARGS]...
//
// SDK is the path of the package's module. Requests of the client are validated by the SDK and passed to the agent that
// COMMAND starts; what that agent sends is sent with the SDK.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(sdk).href);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let numbers = 0;

const write = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const ask = (method) => ({ params }) =>
  new Promise((resolve, reject) => {
    waiting.set(numbers, { resolve, reject });
    write({ id: numbers++, method, params });
  });

const methods = ["initialize", "new", "load", "resume", "fork", "list", "prompt", "set_mode", "set_config_option"];
const app = acp.agent({ name: "test agent" });
for (const name of methods) {
  const method = name === "initialize" ? name : `session/${name}`;
  app.onRequest(method, ask(method));
}
app.onNotification("session/cancel", ({ params }) => write({ method: "session/cancel", params }));
const connection = app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
connection.closed.then(() => child.stdin.end());
child.on("exit", (code) => process.exit(code ?? 1));

async function serve({ id, method, params }) {
  try {
    write({ id, result: (await connection.client.request(method, params)) ?? {} });
  } catch (error) {
    write({ id, error: { code: error.code ?? -32603, message: String(error.message ?? error), data: error.data } });
  }
}

for await (const line of createInterface({ input: child.stdout })) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    const { resolve, reject } = waiting.get(message.id);
    if (message.error) reject(new acp.RequestError(message.error.code, message.error.message, message.error.data));
    else resolve(message.result);
  } else if (message.id === undefined) {
    await connection.client.notify(message.method, message.params);
  } else {
    void serve(message);
  }
}
