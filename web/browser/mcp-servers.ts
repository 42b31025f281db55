// MCP servers for tests, as Python programs to be written to a file of the project.

/** A server; `call` is the Python code of its tool, which can use `say` and `request`. */
const server = (name: string, tools: string, call: string): string => `
import json, sys
def say(**fields): print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        say(id=request["id"], result={"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "${name}", "version": "1"}})
    elif method == "tools/list":
        say(id=request["id"], result={"tools": json.loads(${JSON.stringify(tools)})})
    elif method == "tools/call":
${call}
`;

/** One tool, which always returns the same content. */
export function weather(tool: Record<string, unknown>, content: unknown[]): string {
  const result = JSON.stringify(JSON.stringify({ content }));
  return server("weather", JSON.stringify([{ inputSchema: { type: "object" }, ...tool }]), `        say(id=request["id"], result=json.loads(${result}))`);
}

const ORDER = JSON.stringify([{ name: "order", description: "Order an item", inputSchema: { type: "object" } }]);
const WANTED = JSON.stringify({
  type: "object",
  required: ["size", "count"],
  properties: { size: { type: "string", enum: ["S", "L"], enumNames: ["Small", "Large"] }, count: { type: "integer", title: "How many", minimum: 1, maximum: 9 }, gift: { type: "boolean", title: "As a gift", default: true } },
});

/** Asks the user before it does anything, and reports the answer. */
export const SHOP = server(
  "shop",
  ORDER,
  `        say(id="question", method="elicitation/create", params={"message": "Which one, please?", "requestedSchema": json.loads(${JSON.stringify(WANTED)})})
        answer = json.loads(sys.stdin.readline())["result"]
        say(id=request["id"], result={"content": [{"type": "text", "text": answer["action"] + " " + json.dumps(answer.get("content"), sort_keys=True)}]})`,
);

/** Two resources and a prompt, but no tools. */
export const LIBRARY = `
import json, sys
def say(**fields): print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)
BOOKS = [{"uri": "book://7", "name": "The seventh book", "description": "Poems"}, {"uri": "book://8", "name": "The eighth book"}]
PROMPTS = [{"name": "recommend", "description": "Recommend a book", "arguments": [{"name": "mood", "required": False}]}]
for line in sys.stdin:
    request = json.loads(line)
    method, result = request.get("method"), None
    if method == "initialize":
        result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"resources": {}, "prompts": {}, "tools": {}}, "serverInfo": {"name": "library", "version": "1"}}
    elif method == "tools/list": result = {"tools": []}
    elif method == "resources/list": result = {"resources": BOOKS}
    elif method == "resources/templates/list": result = {"resourceTemplates": []}
    elif method == "prompts/list": result = {"prompts": PROMPTS}
    elif method == "prompts/get": result = {"messages": [{"role": "user", "content": {"type": "text", "text": "Recommend a book."}}]}
    elif method == "resources/read": result = {"contents": [{"uri": request["params"]["uri"], "text": "A poem."}]}
    elif method == "ping": result = {}
    if "id" in request and "method" in request: say(id=request["id"], **({"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}))
`;
