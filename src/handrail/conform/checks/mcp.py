"""MCP servers that live in the host: the handshake through mcp_message, their tools, their failures."""

from __future__ import annotations

from typing import Any

from handrail.agent.models.script import text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, same, typed
from handrail.conform.lines import inside, of, tool_results, tool_texts
from handrail.conform.talk import Talk

SCHEMA: Json = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
TOOL: Json = {"name": "greet", "description": "Greets somebody", "inputSchema": SCHEMA}


class Server:
    """A server of one tool, as a host runs it. `calls` holds the messages that came."""

    def __init__(self, outcome: Json) -> None:
        self.calls: list[Json] = []
        self._outcome = outcome

    @property
    def methods(self) -> list[str]:
        return [call["method"] for call in self.calls]

    def answer(self, request: Json) -> Json:
        message = request["message"]
        self.calls.append(message)
        answers: dict[str, Any] = {
            "initialize": {
                "protocolVersion": inside(message, "params").get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "host", "version": "1"},
            },
            "tools/list": {"tools": [TOOL]},
            "tools/call": self._outcome,
        }
        reply: Json = {"jsonrpc": "2.0", "id": message.get("id", 0), "result": answers.get(message["method"], {})}
        return {"mcp_response": reply}


GREETING: Json = {"content": [{"type": "text", "text": "Hello, Ada."}]}


async def _with_server(bench: Bench, outcome: Json = GREETING, *flags: str) -> tuple[Talk, Server]:
    server = Server(outcome)
    agent = await bench.start(*flags, answers={"mcp_message": server.answer})
    await agent.request("initialize", sdkMcpServers=["host"])
    return agent, server


ALLOWED = ("--allowedTools", "mcp__host__greet")


@check("mcp", "The handshake is initialize, notifications/initialized, tools/list, before the first turn is told.")
async def handshake(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent, server = await _with_server(bench)
    await agent.turn("hello")
    order = [method for method in server.methods if method in ("initialize", "notifications/initialized", "tools/list")]
    same("the methods", order, ["initialize", "notifications/initialized", "tools/list"])
    names = {line["request"].get("server_name") for line in of(agent.lines, "control_request")}
    same("server_name of the requests", names, {"host"})
    same("jsonrpc", {call.get("jsonrpc") for call in server.calls}, {"2.0"})


@check("mcp", "system/init lists the server as connected and its tool as mcp__SERVER__TOOL.")
async def listed(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent, _ = await _with_server(bench)
    init = of(await agent.turn("hello"), "system", "init")[0]
    same("the servers", [(each["name"], each["status"]) for each in init["mcp_servers"]], [("host", "connected")])
    expect("mcp__host__greet" in init["tools"], "the tool is not listed")


@check("mcp", "A call of the tool reaches the server as tools/call; its content is told to the model.")
async def call(bench: Bench) -> None:
    bench.says(tool_use("mcp__host__greet", who="Ada"), text("Done."))
    agent, server = await _with_server(bench, GREETING, *ALLOWED)
    lines = await agent.turn("go")
    (made,) = [each for each in server.calls if each["method"] == "tools/call"] or [{"params": {}}]
    seen = (made["params"].get("name"), made["params"].get("arguments"))
    same("name and arguments", seen, ("greet", {"who": "Ada"}))
    same("the tool results", tool_texts(lines), ["Hello, Ada."])


@check("mcp", "A call that the server says failed is an error result, and the turn goes on.")
async def failed_call(bench: Bench) -> None:
    bench.says(tool_use("mcp__host__greet", who="Ada"), text("I see."))
    outcome: Json = {"content": [{"type": "text", "text": "nobody is in"}], "isError": True}
    agent, _ = await _with_server(bench, outcome, *ALLOWED)
    lines = await agent.turn("go")
    same("is_error", [block.get("is_error") for block in tool_results(lines)], [True])
    expect("nobody is in" in str(tool_results(lines)), "the model is not told")
    same("the result", lines[-1].get("result"), "I see.")


@check("mcp", "A tool of a server is asked for like any other.")
async def asks(bench: Bench) -> None:
    bench.says(tool_use("mcp__host__greet", who="Ada"), text("Done."))
    agent, server = await _with_server(bench)
    await agent.prompt("go")
    asked = await agent.asked()
    same("the tool", asked["request"]["tool_name"], "mcp__host__greet")
    expect("tools/call" not in server.methods, "it was called before it was answered")
    await agent.answer(asked, {"behavior": "deny", "message": "no"})
    await agent.result()
    expect("tools/call" not in server.methods, "it was called although it was denied")


@check("mcp", "mcp_status tells the server, that it is connected, and its tools.")
async def status(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent, _ = await _with_server(bench)
    await agent.turn("hello")
    servers = inside(await agent.request("mcp_status"), "response").get("mcpServers", [])
    same("the servers", [(each["name"], each["status"]) for each in servers], [("host", "connected")])
    same("its tools", [tool["name"] for tool in servers[0].get("tools", ())], ["greet"])


@check("mcp", "A server whose handshake is refused is failed, and the turn runs without it.")
async def refused_handshake(bench: Bench) -> None:
    bench.says(text("Fine."))

    def refuse(request: Json) -> Json:
        error = {"code": -32000, "message": "closed today"}
        return {"mcp_response": {"jsonrpc": "2.0", "id": request["message"].get("id", 0), "error": error}}

    agent = await bench.start(answers={"mcp_message": refuse})
    await agent.request("initialize", sdkMcpServers=["host"])
    lines = await agent.turn("hello")
    same("the result", lines[-1].get("result"), "Fine.")
    servers = of(lines, "system", "init")[0]["mcp_servers"]
    same("the servers", [(each["name"], each["status"]) for each in servers], [("host", "failed")])


@check("mcp", "mcp_set_servers answers what was added and removed, and what failed.")
async def set_servers(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    answer = await agent.request("mcp_set_servers", servers={})
    typed(inside(answer, "response"), {"added": list, "removed": list, "errors": dict}, "the answer")
