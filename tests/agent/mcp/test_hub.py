"""The MCP servers of a session: connecting, tools, resources, prompts, changes by the host."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.agent.errors import McpError
from handrail.agent.mcp.hub import McpHub
from handrail.agent.mcp.tools import McpTool
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Desk
from tests.agent.mcp.servers import ADD, Host, JsonObject, child, no_host, no_one

CALC = {"calc": {"type": "sdk", "name": "calc"}}
PATH = {"PATH": os.environ["PATH"]}
NO_HOME = "/nonexistent"


@asynccontextmanager
async def hub_with(
    servers: dict[str, Any],
    *,
    send: Any = no_host,
    elicit: Any = no_one,
    cwd: str = "/",
    config_home: Path | str = NO_HOME,
    **environment: str,
) -> AsyncGenerator[McpHub]:
    """A hub whose servers have connected or failed."""
    hub = McpHub(send, elicit, {**PATH, **environment}, cwd, config_home=str(config_home))
    hub.configure(servers, scope="dynamic")
    hub.start()
    try:
        async with asyncio.timeout(20):
            await hub.ready()
            yield hub
    finally:
        await hub.close()


def tool_of(hub: McpHub, name: str) -> McpTool:
    found = next(tool for tool in hub.tools() if tool.name == name)
    assert isinstance(found, McpTool)
    return found


async def test_server_of_the_host_is_connected_and_called():
    host = Host()
    async with hub_with(CALC, send=host.send) as hub:
        assert host.methods() == ["initialize", "notifications/initialized", "tools/list"]
        assert host.heard[0][1]["id"] == 0
        assert host.heard[0][1]["params"]["protocolVersion"] == "2025-11-25"
        assert hub.servers() == [{"name": "calc", "status": "connected", "source": "sdk"}]
        tool = tool_of(hub, "mcp__calc__add")
        assert tool.schema() == ADD["inputSchema"]
        assert tool.server == {"name": "calc", "source": "sdk"}
        desk = Desk("/")
        desk.call_id = "call_1"
        outcome = await tool.run(tool.read({"a": 2}), desk)
        assert outcome.content == outcome.detail == [{"type": "text", "text": "5"}]
        assert host.heard[-1][1]["params"] == {
            "name": "add",
            "arguments": {"a": 2},
            "_meta": {"claudecode/toolUseId": "call_1", "progressToken": 2},
        }


async def test_input_must_be_an_object():
    async with hub_with(CALC, send=Host().send) as hub:
        with pytest.raises(msgspec.ValidationError):
            tool_of(hub, "mcp__calc__add").read([1])


async def test_all_pages_of_tools_are_read_until_a_cursor_repeats():
    host = Host([{**ADD, "name": f"t{number}"} for number in range(6)])
    host.pages = 3
    async with hub_with(CALC, send=host.send) as hub:
        assert len(hub.tools()) == 6

    class Circle(Host):
        def page(self, cursor: str | None) -> JsonObject:
            return {"tools": [ADD], "nextCursor": "again"}

    circle = Circle()
    async with hub_with(CALC, send=circle.send) as hub:
        assert circle.methods().count("tools/list") == 2
        assert [tool.name for tool in hub.tools()] == ["mcp__calc__add"]


async def test_only_read_only_tools_run_concurrently():
    host = Host([ADD, {**ADD, "name": "look", "annotations": {"readOnlyHint": True}}])
    async with hub_with(CALC, send=host.send) as hub:
        assert {tool.name: tool.concurrent for tool in hub.tools()} == {
            "mcp__calc__add": False,
            "mcp__calc__look": True,
        }
        assert hub.status()[0]["tools"][1]["annotations"] == {"readOnly": True}


async def test_child_process_serves_and_exits_with_the_hub(tmp_path: Path):
    body = "def called(message): answer(message, text(str(os.getpid())))"
    async with hub_with({"st": child(tmp_path, body)}) as hub:
        (status,) = hub.status()
        assert (status["status"], status["transport"], status["scope"]) == ("connected", "stdio", "dynamic")
        assert status["config"]["type"] == "stdio"
        outcome = await tool_of(hub, "mcp__st__go").run({}, Desk("/"))
        pid = int(outcome.content[0]["text"])  # type: ignore[index]
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_child_process_gets_only_base_and_configured_variables(tmp_path: Path):
    config = child(tmp_path, "def called(message): answer(message, text(json.dumps(dict(os.environ))))")
    config["env"] = {"GIVEN": "${WANTED} ${NOBODY:-else}"}
    async with hub_with({"st": config}, WANTED="x", ANTHROPIC_API_KEY="sk-ant-secret", OTHER="y") as hub:
        outcome = await tool_of(hub, "mcp__st__go").run({}, Desk("/"))
        seen = msgspec.json.decode(outcome.content[0]["text"])  # type: ignore[index]
        assert seen["GIVEN"] == "x else"
        assert not {"ANTHROPIC_API_KEY", "OTHER", "WANTED"} & set(seen)
        assert "GIVEN" not in str(hub.status())


async def test_unset_variable_keeps_its_text_and_is_reported(tmp_path: Path):
    config = child(tmp_path, "def called(message): answer(message, text(sys.argv[1]))")
    config["args"].append("${NOVAR}")
    async with hub_with({"st": config}) as hub:
        outcome = await tool_of(hub, "mcp__st__go").run({}, Desk("/"))
        assert outcome.content == [{"type": "text", "text": "${NOVAR}"}]
        assert [(error["type"], error["name"]) for error in hub.errors()] == [("missing_variable", "st")]
        assert "NOVAR" in hub.errors()[0]["message"]


def _once(folder: Path, doing: str) -> JsonObject:
    """A server whose first process does this at its first call; later processes answer."""
    mark = folder / "called"
    return child(
        folder,
        f"def called(message):\n"
        f"    if os.path.exists({str(mark)!r}): return answer(message, text('went'))\n"
        f"    open({str(mark)!r}, 'w')\n"
        f"    {doing}\n",
    )


async def test_server_that_crashes_during_a_call_is_started_by_the_next(tmp_path: Path):
    config = _once(tmp_path, "sys.stderr.write('out of cheese'); sys.stderr.flush(); os._exit(3)")
    async with hub_with({"st": config}) as hub:
        with pytest.raises(ToolFailed, match="ended"):
            await tool_of(hub, "mcp__st__go").run({}, Desk("/"))
        assert hub.servers()[0]["status"] == "connected"
        assert "out of cheese" in hub.status()[0]["error"]
        await tool_of(hub, "mcp__st__go").run({}, Desk("/"))
        assert "error" not in hub.status()[0]


async def test_server_that_has_exited_is_started_once_for_several_calls(tmp_path: Path):
    starts = tmp_path / "starts"
    config = _once(tmp_path, "os._exit(3)")
    (tmp_path / "server.py").write_text(
        f"open({str(starts)!r}, 'a').write('x')\n" + (tmp_path / "server.py").read_text()
    )
    async with hub_with({"st": config}) as hub:
        call = tool_of(hub, "mcp__st__go")
        with pytest.raises(ToolFailed):
            await call.run({}, Desk("/"))
        await asyncio.gather(*(call.run({}, Desk("/")) for _ in range(3)))
    assert starts.read_text() == "xx"


async def test_server_that_cannot_be_started_again_is_failed(tmp_path: Path):
    config = _once(tmp_path, f"os.remove({str(tmp_path / 'server.py')!r}); os._exit(3)")
    async with hub_with({"st": config}) as hub:
        for _ in range(2):
            with pytest.raises(ToolFailed):
                await tool_of(hub, "mcp__st__go").run({}, Desk("/"))
            if hub.servers()[0]["status"] == "failed":
                break
        assert hub.servers()[0]["status"] == "failed"


class FailingHost(Host):
    """Answers the first `times` requests of a method with this answer."""

    def __init__(self, method: str, times: int, answer: JsonObject) -> None:
        super().__init__()
        self._method, self._times, self._answer = method, times, answer

    async def send(self, server: str, message: JsonObject) -> JsonObject:
        answer = await super().send(server, message)
        failing = message.get("method") == self._method and self.methods().count(self._method) <= self._times
        return {"jsonrpc": "2.0", "id": message["id"], **self._answer} if failing else answer


BROKEN = {"error": {"code": -32603, "message": "broken"}}
MISSING = {"error": {"code": -32601, "message": "Method not found"}}


@pytest.mark.parametrize(
    ("times", "answer", "asked", "tools"),
    [
        (1, BROKEN, 2, 1),
        (3, BROKEN, 4, 1),
        (9, BROKEN, 4, 0),
        (9, {"result": {"nothing": 1}}, 4, 0),
        (9, MISSING, 1, 0),
    ],
)
async def test_first_list_of_tools_is_retried_and_the_server_stays_connected(
    monkeypatch: pytest.MonkeyPatch, times: int, answer: JsonObject, asked: int, tools: int
):
    monkeypatch.setattr("handrail.agent.mcp.link.LIST_DELAYS", (0, 0, 0))
    host = FailingHost("tools/list", times, answer)
    async with hub_with(CALC, send=host.send) as hub:
        assert hub.servers()[0]["status"] == "connected"
        assert (host.methods().count("tools/list"), len(hub.tools())) == (asked, tools)


@pytest.mark.parametrize(
    "answer",
    [
        BROKEN,
        {"result": {}},
        {"result": {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}},
        {"result": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "x", "version": "1"}}},
        {"result": {"protocolVersion": "2025-11-25", "capabilities": {}}},
        {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x"}}},
    ],
)
async def test_refused_handshake_of_a_host_server_is_retried_before_a_turn(answer: JsonObject):
    host = FailingHost("initialize", 2, answer)
    async with hub_with(CALC, send=host.send) as hub:
        for status in ("failed", "failed", "connected"):
            assert hub.servers()[0]["status"] == status
            assert hub.retry_refused() is (status == "failed")
            await hub.ready()
    assert host.methods().count("initialize") == 3


async def test_server_of_the_host_is_not_reconnected_on_request():
    host = Host()
    async with hub_with(CALC, send=host.send) as hub:
        with pytest.raises(McpError, match="runs in the host"):
            await hub.reconnect("calc")
        assert (hub.servers()[0]["status"], host.methods().count("initialize")) == ("connected", 1)


async def test_missing_program_fails_only_its_server():
    async with hub_with({"st": {"command": "/no/such/program"}, **CALC}, send=Host().send) as hub:
        assert [entry["status"] for entry in hub.servers()] == ["failed", "connected"]
        assert "no such executable" in hub.status()[0]["error"]
        with pytest.raises(McpError, match="no such executable"):
            await hub.reconnect("st")


async def test_slow_server_delays_the_first_turn_only_up_to_the_limit(tmp_path: Path):
    hub = McpHub(no_host, no_one, PATH, "/", config_home=NO_HOME)
    hub.configure({"slow": child(tmp_path, "sys.stdin.readlines()")}, scope="dynamic")
    hub.start()
    async with asyncio.timeout(10):
        await hub.ready(0.05)
        assert hub.servers() == [{"name": "slow", "status": "pending", "source": "dynamic"}]
        await hub.close()


async def test_slow_server_from_a_file_delays_one_turn_briefly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.agent.mcp.hub.FILE_SERVER_WAIT", 0.05)
    hub = McpHub(no_host, no_one, PATH, "/", config_home=NO_HOME)
    hub.configure({"slow": child(tmp_path, "sys.stdin.readlines()")}, scope="user")
    hub.start()
    async with asyncio.timeout(10):
        await hub.ready()
        assert hub.servers() == [{"name": "slow", "status": "pending", "source": "user"}]
        monkeypatch.setattr("handrail.agent.mcp.hub.FILE_SERVER_WAIT", 60.0)
        await hub.ready()
        await hub.close()


async def test_unacknowledged_notification_fails_the_server_after_two_attempts():
    class Deaf(Host):
        async def send(self, server: str, message: JsonObject) -> JsonObject:
            if message.get("method") == "notifications/initialized":
                self.heard.append((server, message))
                await asyncio.Event().wait()
            return await super().send(server, message)

    host = Deaf()
    async with hub_with(CALC, send=host.send, MCP_TIMEOUT="50") as hub:
        assert host.methods() == ["initialize", "notifications/initialized"] * 2
        assert hub.servers() == [{"name": "calc", "status": "failed", "source": "sdk"}]
        assert "not ready within 0.05 seconds" in hub.status()[0]["error"]


async def test_elicitation_is_answered_by_the_host(tmp_path: Path):
    body = """
def called(message):
    global call
    call = message
    send({"id": 900, "method": "elicitation/create", "params": {"message": "Who\\u202e?",
          "requestedSchema": {"type": "object", "properties": {"who": {"type": "string"}}}}})
def other(message):
    if message.get("id") == 900: answer(call, text(json.dumps(message["result"])))
"""
    asked: list[JsonObject] = []

    async def elicit(request: JsonObject) -> JsonObject:
        asked.append(request)
        return {"action": "accept", "content": {"who": "me"}}

    async with hub_with({"el": child(tmp_path, body)}, elicit=elicit) as hub:
        outcome = await tool_of(hub, "mcp__el__go").run({}, Desk("/"))
        assert outcome.content == [{"type": "text", "text": '{"action": "accept", "content": {"who": "me"}}'}]
    assert asked == [
        {
            "mcp_server_name": "el",
            "message": "Who?",
            "mode": "form",
            "requested_schema": {"type": "object", "properties": {"who": {"type": "string"}}},
            "property_order": ["who"],
        }
    ]


async def test_pings_roots_and_unknown_methods_are_answered(tmp_path: Path):
    body = """
got = {}
def called(message):
    global call
    call = message
    for number, method in enumerate(["ping", "roots/list", "sampling/createMessage"]):
        send({"id": f"s{number}", "method": method})
def other(message):
    if str(message.get("id")).startswith("s"): got[message["id"]] = message.get("result", message.get("error"))
    if len(got) == 3: answer(call, text(json.dumps(got, sort_keys=True)))
"""
    async with hub_with({"s": child(tmp_path, body)}, cwd=str(tmp_path)) as hub:
        outcome = await tool_of(hub, "mcp__s__go").run({}, Desk("/"))
        got = msgspec.json.decode(outcome.content[0]["text"])  # type: ignore[index]
    assert got["s0"] == {}
    assert got["s1"]["roots"][0]["uri"] == tmp_path.as_uri()
    assert got["s2"]["code"] == -32601


async def test_cancelled_call_is_cancelled_by_notification():
    class Silent(Host):
        def __init__(self) -> None:
            super().__init__()
            self.called, self.told, self.taken_back = asyncio.Event(), asyncio.Event(), False

        async def send(self, server: str, message: JsonObject) -> JsonObject:
            answer = await super().send(server, message)
            if message.get("method") == "notifications/cancelled":
                self.told.set()
            return answer

        async def call(self, message: JsonObject) -> JsonObject:
            self.called.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.taken_back = True
                raise
            return {}

    host = Silent()
    async with hub_with(CALC, send=host.send) as hub:
        task = asyncio.create_task(tool_of(hub, "mcp__calc__add").run({"a": 1}, Desk("/")))
        await host.called.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await host.told.wait()
        assert host.heard[-1][1]["params"]["requestId"] == 2
        assert not host.taken_back


async def test_set_servers_replaces_only_servers_of_the_host(tmp_path: Path):
    host = Host()
    async with hub_with(CALC, send=host.send) as hub:
        hub.configure({"mine": child(tmp_path)}, scope="user")
        await hub.ready()
        answer = await hub.set_servers({"calc2": {"type": "sdk", "name": "calc2"}, "bad": {"type": "sdk"}})
        assert (answer["added"], answer["removed"], [*answer["errors"]]) == (["calc2"], ["calc"], ["bad"])
        await hub.ready()
        assert {one["name"]: one["status"] for one in hub.servers()} == {"mine": "connected", "calc2": "connected"}
        again = await hub.set_servers({"calc2": {"type": "sdk", "name": "calc2"}})
        assert again == {"added": [], "removed": [], "errors": {}}
        assert await hub.set_servers({}) == {"added": [], "removed": ["calc2"], "errors": {}}
        assert [one["name"] for one in hub.servers()] == ["mine"]


async def test_server_is_disabled_and_enabled():
    async with hub_with(CALC, send=Host().send) as hub:
        await hub.toggle("calc", enabled=False)
        assert hub.status() == [
            {
                "name": "calc",
                "status": "disabled",
                "transport": "sdk",
                "scope": "dynamic",
                "source": "sdk",
                "signIn": False,
            }
        ]
        assert hub.tools() == []
        await hub.toggle("calc", enabled=True)
        assert hub.servers()[0]["status"] == "connected"


@pytest.mark.parametrize("change", ["reconnect", "toggle"])
async def test_unknown_server_is_refused(change: str):
    async with hub_with({}) as hub:
        with pytest.raises(McpError, match="Server not found: nope"):
            await (hub.reconnect("nope") if change == "reconnect" else hub.toggle("nope", enabled=False))


async def test_call_by_full_name_returns_the_raw_result():
    async with hub_with(CALC, send=Host().send) as hub:
        assert await hub.call("mcp__calc__add", {"a": 1}) == {"content": [{"type": "text", "text": "5"}]}
        with pytest.raises(McpError, match="MCP server not connected: x"):
            await hub.call("mcp__x__y", {})
        with pytest.raises(McpError, match="MCP tool not found: mcp__calc__nope"):
            await hub.call("mcp__calc__nope", {})


async def test_server_configured_twice_is_connected_once():
    host = Host()
    async with hub_with(CALC, send=host.send) as hub:
        assert hub.configure(CALC, scope="dynamic") == []
        await hub.ready()
        assert host.methods().count("initialize") == 1
        assert hub.configure({"late": {"type": "sdk", "name": "late"}}, scope="dynamic") == ["late"]
        await hub.ready()
        assert hub.servers()[1] == {"name": "late", "status": "connected", "source": "sdk"}


async def test_resources_are_listed_and_read(tmp_path: Path):
    body = """
CAPABILITIES = {"resources": {}, "prompts": {}}
def other(message):
    method = message.get("method")
    if method == "resources/list":
        answer(message, {"resources": [{"uri": "note://1", "name": "One\\u200b"}]})
    elif method == "resources/read":
        answer(message, {"contents": [{"uri": message["params"]["uri"], "text": "hello"}]})
    elif method == "prompts/list":
        answer(message, {"prompts": [{"name": "greet", "description": "g", "arguments": [{"name": "who"}]}]})
    elif method == "prompts/get":
        words = "Hi " + message["params"]["arguments"]["who"]
        answer(message, {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]})
"""
    async with hub_with({"notes": child(tmp_path, body)}) as hub:
        assert await hub.list_resources() == ([{"uri": "note://1", "name": "One", "server": "notes"}], {})
        listing, reading = hub.tools()
        assert (listing.name, reading.name) == ("ListMcpResourcesTool", "ReadMcpResourceTool")
        outcome = await reading.run(reading.read({"server": "notes", "uri": "note://1"}), Desk("/"))
        assert outcome.content == '{"contents":[{"uri":"note://1","text":"hello"}]}'
        (prompt,) = hub.prompts()
        assert prompt == {"name": "mcp__notes__greet", "description": "g", "arguments": ["who"], "required": []}
        messages = await hub.prompt("mcp__notes__greet", ["you"])
        assert messages[0]["content"]["text"] == "Hi you"


async def test_server_that_ignores_eof_is_killed(tmp_path: Path):
    body = f"""
import signal
signal.signal({int(signal.SIGTERM)}, signal.SIG_IGN)
def called(message):
    answer(message, text(str(os.getpid())))
    while True: signal.pause()
"""
    async with hub_with({"st": child(tmp_path, body)}) as hub:
        outcome = await tool_of(hub, "mcp__st__go").run({}, Desk("/"))
        pid = int(outcome.content[0]["text"])  # type: ignore[index]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
async def test_first_entry_of_a_list_may_be_announced_later(kind: str):
    class Bare(Host):
        async def send(self, server: str, message: JsonObject) -> JsonObject:
            if message.get("method") == f"{kind}/list":
                self.heard.append((server, message))
                listed = {"tools": ADD, "prompts": {"name": "greet"}, "resources": {"uri": "note://1"}}
                return {"id": message["id"], "result": {kind: [listed[kind]]}}
            return await super().send(server, message)

        async def greet(self, server: str) -> JsonObject:
            return {**(await super().greet(server)), "capabilities": {}}

    host = Bare()
    async with hub_with(CALC, send=host.send) as hub:
        assert (hub.tools(), hub.prompts(), f"{kind}/list" in host.methods()) == ([], [], False)
        hub.receive("calc", {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"})
        await hub.ready()
        if kind == "resources":
            assert (await hub.list_resources())[0] == [{"uri": "note://1", "server": "calc"}]
        else:
            assert len(hub.tools() + hub.prompts()) == 1


async def test_list_that_changes_during_the_handshake_is_read_again():
    hubs: list[McpHub] = []

    class Eager(Host):
        def page(self, cursor: str | None) -> JsonObject:
            found = super().page(cursor)
            if len(self.tools) == 1:
                self.tools = [ADD, {**ADD, "name": "more"}]
                hubs[0].receive("calc", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            return found

    host = Eager()
    hub = McpHub(host.send, no_one, PATH, "/", config_home=NO_HOME)
    hubs.append(hub)
    hub.configure(CALC, scope="dynamic")
    hub.start()
    async with asyncio.timeout(20):
        await hub.ready()
        await hub.ready()
        assert [tool.name for tool in hub.tools()] == ["mcp__calc__add", "mcp__calc__more"]
        await hub.close()


async def test_instructions_of_servers_are_part_of_the_system_prompt():
    class Talkative(Host):
        async def greet(self, server: str) -> JsonObject:
            return {**(await super().greet(server)), "instructions": "Add with care\u200b." + "x" * 5000}

    async with hub_with(CALC, send=Talkative().send) as hub:
        (block,) = hub.instructions()
        assert "## calc\n\nAdd with care.x" in block["text"]
        assert len(block["text"]) < 2400
        await hub.toggle("calc", enabled=False)
        assert hub.instructions() == []


async def test_disabling_a_server_while_its_resources_are_listed_is_reported(tmp_path: Path):
    async with hub_with({"shop": child(tmp_path, 'CAPABILITIES = {"tools": {}, "resources": {}}')}) as hub:
        listed, _ = await asyncio.gather(hub.list_resources(), hub.toggle("shop", enabled=False))
        assert listed == ([], {"shop": "MCP server not connected: shop"})


@pytest.mark.parametrize("content", ["[]", '[{"type": "text", "text": ""}]'])
async def test_a_result_without_content_says_so(tmp_path: Path, content: str):
    server = child(tmp_path, f"def called(message): answer(message, {{'content': {content}}})")
    async with hub_with({"c": server}) as hub:
        outcome = await tool_of(hub, "mcp__c__go").run({}, Desk("/"))
        assert outcome.content == [{"type": "text", "text": "(mcp__c__go completed with no output)"}]


async def test_a_malformed_result_is_an_error(tmp_path: Path):
    server = child(tmp_path, "def called(message): answer(message, {'content': [{'type': 'weird'}]})")
    async with hub_with({"c": server}) as hub:
        with pytest.raises(ToolFailed, match="malformed"):
            await tool_of(hub, "mcp__c__go").run({}, Desk("/"))
