"""Control requests: the model, the mode, servers, files put back, what the session knows."""

from __future__ import annotations

import sys
from pathlib import Path
from uuid import uuid4

import pytest

from handrail import ControlRefused, ElicitationAnswer, InitMessage, PermissionRequest, RewindRefused, mcp_server, tool
from handrail.schema.system_messages import StatusMessage
from handrail.testing import Lab, When, reply, text, tool_use
from tests.contract.conftest import Talk
from tests.interop.scenario import of, results_seen

OTHER = "claude-haiku-4-5"
SHOP = {
    "type": "stdio",
    "command": sys.executable,
    "args": [str(Path(__file__).parents[1] / "interop" / "shop_server.py")],
}


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"the sum is {a + b}"


async def test_the_model_is_changed_and_changed_back(talk: Talk):
    changed = reply(text("I am another"), when=When(model=OTHER))
    async with talk(changed, text("I am the usual one"), text("again")) as session:
        assert (await session.ask("who?")).text == "I am the usual one"
        assert (await session.set_model(OTHER)).model == OTHER
        assert (await session.ask("who?")).text == "I am another"
        await session.set_model(None)
        assert (await session.ask("who?")).text == "again"


async def test_the_mode_is_changed(talk: Talk, lab: Lab):
    asked: list[str] = []

    def decide(request: PermissionRequest) -> bool:
        asked.append(request.tool_name)
        return True

    calls = [tool_use("Write", file_path=str(lab.project / name), content="x") for name in ("a.txt", "b.txt")]
    async with talk(calls[0], text("one"), calls[1], text("two"), can_use_tool=decide) as session:
        reader = session.messages()
        assert (await session.set_permission_mode("acceptEdits")).mode == "acceptEdits"
        first = [message async for message in await session.send("go")]
        assert asked == []
        await session.set_permission_mode("default")
        await session.ask("again")
        assert (await anext(aiter(reader))).permission_mode == "acceptEdits"
    assert asked == ["Write"]
    assert of(InitMessage, first)[0].permission_mode == "acceptEdits"
    assert not of(StatusMessage, first)


async def test_a_mode_that_cannot_be_had_is_refused_with_its_code(talk: Talk):
    async with talk(text("fine")) as session:
        with pytest.raises(ControlRefused) as nonsense:
            await session.set_permission_mode("nonsense")
        with pytest.raises(ControlRefused) as bypass:
            await session.set_permission_mode("bypassPermissions")
        with pytest.raises(ControlRefused) as unknown:
            await session.control("totally_unknown", colour="red")
        assert (await session.ask("still there?")).text == "fine"
    codes = [refusal.value.code for refusal in (nonsense, bypass, unknown)]
    assert codes == ["invalid_mode", "bypass_not_launched", "unsupported_request"]


async def test_a_tool_of_the_client_is_called(talk: Talk):
    seen = reply(text("done"), when=When(tool_result="the sum is 5"))
    server = mcp_server("maths", [add])
    call = tool_use("mcp__maths__add", a=2, b=3)
    async with talk(call, seen, mcp_servers=[server], allowed_tools=["mcp__maths"]) as session:
        messages = [message async for message in await session.send("go")]
        with pytest.raises(ControlRefused, match="SDK"):
            await session.mcp_call("mcp__maths__add", {"a": 20, "b": 22})
    assert [(server.name, server.status) for server in of(InitMessage, messages)[0].mcp_servers] == [
        ("maths", "connected")
    ]
    assert [result.is_error for result in results_seen(messages)] == [False]


async def test_a_tool_of_the_client_that_fails_is_an_error_for_the_model(talk: Talk):
    @tool
    async def fail() -> str:
        raise ValueError("the oven is cold")

    told = reply(text("a pity"), when=When(tool_result="the oven is cold", failed=True))
    options = {"mcp_servers": [mcp_server("kitchen", [fail])], "allowed_tools": ["mcp__kitchen"]}
    async with talk(tool_use("mcp__kitchen__fail"), told, **options) as session:
        assert (await session.ask("go")).text == "a pity"


async def test_servers_are_listed_switched_and_connected_again(talk: Talk):
    options = {
        "mcp_servers": {"shop": SHOP},
        "on_elicitation": lambda request: ElicitationAnswer("accept", {"size": "L"}),
    }
    async with talk(text("one"), text("two"), **options) as session:
        await session.ask("hi")
        (shop,) = (await session.mcp_status()).servers
        assert (shop.name, shop.status) == ("shop", "connected")
        await session.mcp_toggle("shop", enabled=False)
        assert [server.status for server in (await session.mcp_status()).servers] == ["disabled"]
        off = [message async for message in await session.send("again")]
        await session.mcp_toggle("shop", enabled=True)
        await session.mcp_reconnect("shop")
        assert [server.status for server in (await session.mcp_status()).servers] == ["connected"]
        assert "hat: accept L" in str(await session.mcp_call("mcp__shop__order", {"item": "hat"}))
        with pytest.raises(ControlRefused):
            await session.mcp_reconnect("nowhere")
    assert not [name for name in of(InitMessage, off)[0].tools if name.startswith("mcp__")]


async def test_servers_come_and_go_while_the_session_runs(talk: Talk):
    async with talk(text("one"), text("two")) as session:
        added = await session.mcp_set_servers({"shop": SHOP})
        assert added.added == ["shop"]
        first = [message async for message in await session.send("hi")]
        assert (await session.mcp_set_servers({})).removed == ["shop"]
        second = [message async for message in await session.send("hi")]
    assert "mcp__shop__order" in of(InitMessage, first)[0].tools
    assert "mcp__shop__order" not in of(InitMessage, second)[0].tools


async def test_files_are_put_back(talk: Talk, lab: Lab):
    path = lab.project / "a.txt"
    path.write_text("old")
    calls = [tool_use("Read", file_path=str(path)), tool_use("Write", file_path=str(path), content="new")]
    options = {"enable_file_checkpointing": True, "permission_mode": "acceptEdits"}
    async with talk(*calls, text("done"), **options) as session:
        turn = await session.send("write")
        await turn
        assert path.read_text() == "new"
        plan = await session.rewind_files(turn.uuid, dry_run=True)
        assert (plan.files_changed, path.read_text()) == ([str(path)], "new")
        await session.rewind_files(turn.uuid)
        assert path.read_text() == "old"
        with pytest.raises(RewindRefused):
            await session.rewind_files(str(uuid4()))


async def test_the_session_tells_what_it_knows(talk: Talk, lab: Lab):
    (lab.project / "notes.txt").write_text("remember the milk")
    async with talk(text("hi"), settings={"cleanupPeriodDays": 99}) as session:
        await session.ask("hello")
        usage, cost = await session.get_context_usage(), await session.get_session_cost()
        models, settings = await session.list_models(), await session.get_settings()
        notes = await session.read_file("notes.txt")
    assert 0 < usage.total_tokens < usage.max_tokens
    assert {row.kind for row in usage.categories} == {"used", "free", "buffer"}
    assert "Bash" in [row.name for row in usage.system_tools]
    assert "$" in cost.text
    assert models.models
    assert settings.effective["cleanupPeriodDays"] == 99
    assert notes.contents == "remember the milk"


async def test_a_question_beside_the_conversation_stays_beside_it(talk: Talk):
    aside = reply(text("An aside."), when=When(prompt="what time is it?"))
    async with talk(text("one"), aside, text("two")) as session:
        await session.ask("hello")
        assert (await session.side_question("what time is it?")).response == "An aside."
        assert (await session.ask("go on")).text == "two"
