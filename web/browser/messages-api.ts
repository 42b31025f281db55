// A Messages API on loopback that knows one key and one model, and records the keys it receives.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const KEY = "sk-test-browser-0123456789";

interface Call {
  type: "tool_use";
  name: string;
  input: Record<string, unknown>;
}

export class MessagesApi {
  readonly models: string[] = [];
  #server: HttpServer;

  private constructor(readonly says: string, readonly calls: Call[]) {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** Answers with these calls, one after another, if tools are offered; otherwise and then with the text. */
  static async start(says: string, calls: Call[] = []): Promise<MessagesApi> {
    const api = new MessagesApi(says, calls);
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (request.headers["x-api-key"] !== KEY) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } }));
      return;
    }
    const { model, stream, tools } = JSON.parse(Buffer.concat(pieces).toString() || "{}") as { model?: string; stream?: boolean; tools?: unknown[] };
    this.models.push(model ?? "");
    const call = stream && tools?.length ? this.calls.shift() : undefined;
    const reason = call ? "tool_use" : "end_turn";
    const message = { id: `msg_${this.models.length}`, type: "message", role: "assistant", model, stop_reason: reason, stop_sequence: null, usage: { input_tokens: 3, output_tokens: 2 } };
    if (!stream) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...message, content: [{ type: "text", text: this.says }] }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = [
      { type: "message_start", message: { ...message, stop_reason: null, content: [] } },
      { type: "content_block_start", index: 0, content_block: call ? { ...call, id: `toolu_${this.models.length}`, input: {} } : { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: call ? { type: "input_json_delta", partial_json: JSON.stringify(call.input) } : { type: "text_delta", text: this.says } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ];
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  }
}
