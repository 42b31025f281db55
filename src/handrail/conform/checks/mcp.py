"""MCP servers of the host, reached through mcp_message: handshake, tools, failures."""

from __future__ import annotations

from typing import Any

from handrail.agent.models.script import text, tool_use
from handrail.conform.agent_process import AgentProcess
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, expect_equal, expect_fields
from handrail.conform.lines import nested, of_type, tool_results, tool_texts

SCHEMA: Json = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
TOOL: Json = {"name": "greet", "description": "Greet a person", "inputSchema": SCHEMA}


class Server:
    """An MCP server with one tool. `calls` holds the messages it received."""

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
                "protocolVersion": nested(message, "params").get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "host", "version": "1"},
            },
            "tools/list": {"tools": [TOOL]},
            "tools/call": self._outcome,
        }
        reply: Json = {"jsonrpc": "2.0", "id": message.get("id", 0), "result": answers.get(message["method"], {})}
        return {"mcp_response": reply}


GREETING: Json = {"content": [{"type": "text", "text": "Hello, Ada."}]}


async def _with_server(bench: Bench, outcome: Json = GREETING, *flags: str) -> tuple[AgentProcess, Server]:
    server = Server(outcome)
    agent = await bench.start(*flags, answers={"mcp_message": server.answer})
    await agent.request("initialize", sdkMcpServers=["host"])
    return agent, server


ALLOWED = ("--allowedTools", "mcp__host__greet")


@check("mcp", "The handshake is initialize, notifications/initialized, tools/list.")
async def handshake(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent, server = await _with_server(bench)
    await agent.turn("hello")
    order = [method for method in server.methods if method in ("initialize", "notifications/initialized", "tools/list")]
    expect_equal("methods", order, ["initialize", "notifications/initialized", "tools/list"])
    names = {line["request"].get("server_name") for line in of_type(agent.lines, "control_request")}
    expect_equal("server_name of the requests", names, {"host"})
    expect_equal("jsonrpc", {call.get("jsonrpc") for call in server.calls}, {"2.0"})


@check("mcp", "system/init lists the server as connected and its tool as mcp__SERVER__TOOL.")
async def listed(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent, _ = await _with_server(bench)
    init = of_type(await agent.turn("hello"), "system", "init")[0]
    expect_equal("servers", [(each["name"], each["status"]) for each in init["mcp_servers"]], [("host", "connected")])
    expect("mcp__host__greet" in init["tools"], "system/init does not list the tool")


@check("mcp", "A tool call reaches the server as tools/call, and the content it returns becomes the tool result.")
async def call(bench: Bench) -> None:
    bench.says(tool_use("mcp__host__greet", who="Ada"), text("Done."))
    agent, server = await _with_server(bench, GREETING, *ALLOWED)
    lines = await agent.turn("go")
    (made,) = [each for each in server.calls if each["method"] == "tools/call"] or [{"params": {}}]
    seen = (made["params"].get("name"), made["params"].get("arguments"))
    expect_equal("name and arguments", seen, ("greet", {"who": "Ada"}))
    expect_equal("tool results", tool_texts(lines), ["Hello, Ada."])


@check("mcp", "A call that returns isError becomes an error result, and the turn continues.")
async def failed_call(bench: Bench) -> None:
    bench.says(tool_use("mcp__host__greet", who="Ada"), text("I see."))
    outcome: Json = {"content": [{"type": "text", "text": "out of office"}], "isError": True}
    agent, _ = await _with_server(bench, outcome, *ALLOWED)
    lines = await agent.turn("go")
    expect_equal("is_error", [block.get("is_error") for block in tool_results(lines)], [True])
    expect("out of office" in str(tool_results(lines)), "the error does not reach the model")
    expect_equal("result", lines[-1].get("result"), "I see.")


@check("mcp", "An MCP tool asks for permission like any other tool.")
async def permission(bench: Bench) -> None:
    bench.says(tool_use("mcp__host__greet", who="Ada"), text("Done."))
    agent, server = await _with_server(bench)
    await agent.prompt("go")
    asked = await agent.next_request()
    expect_equal("tool", asked["request"]["tool_name"], "mcp__host__greet")
    expect("tools/call" not in server.methods, "the tool was called before the question was answered")
    await agent.answer(asked, {"behavior": "deny", "message": "no"})
    await agent.result()
    expect("tools/call" not in server.methods, "the tool was called although it was denied")


@check("mcp", "mcp_status lists the server as connected, with its tools.")
async def status(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent, _ = await _with_server(bench)
    await agent.turn("hello")
    servers = nested(await agent.request("mcp_status"), "response").get("mcpServers", [])
    expect_equal("servers", [(each["name"], each["status"]) for each in servers], [("host", "connected")])
    expect_equal("tools", [tool["name"] for tool in servers[0].get("tools", ())], ["greet"])


@check("mcp", "A server that refuses the handshake is listed as failed, and the turn runs without it.")
async def refused_handshake(bench: Bench) -> None:
    bench.says(text("Fine."))

    def refuse(request: Json) -> Json:
        error = {"code": -32000, "message": "closed today"}
        return {"mcp_response": {"jsonrpc": "2.0", "id": request["message"].get("id", 0), "error": error}}

    agent = await bench.start(answers={"mcp_message": refuse})
    await agent.request("initialize", sdkMcpServers=["host"])
    lines = await agent.turn("hello")
    expect_equal("result", lines[-1].get("result"), "Fine.")
    servers = of_type(lines, "system", "init")[0]["mcp_servers"]
    expect_equal("servers", [(each["name"], each["status"]) for each in servers], [("host", "failed")])


@check("mcp", "mcp_set_servers returns the added and removed servers and the errors.")
async def set_servers(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    answer = await agent.request("mcp_set_servers", servers={})
    expect_fields(nested(answer, "response"), {"added": list, "removed": list, "errors": dict}, "answer")
