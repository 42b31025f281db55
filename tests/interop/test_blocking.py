"""handrail.blocking with the real CLI."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from handrail import AssistantMessage, PermissionRequest, ResultMessage, blocking, mcp_server
from handrail.testing import Lab, hang, text, tool_use
from tests.interop.scenario import LIMIT, Model, SessionOptions, bash, of, results_sent, texts_sent


async def plainly(program: Callable[[], Any]) -> Any:
    """Runs a program without async in a thread, while the scripted model answers in this one."""
    async with asyncio.timeout(LIMIT):
        return await asyncio.to_thread(program)


async def test_blocking_session_runs_several_turns(model: Model, session_options: SessionOptions, lab: Lab):
    api = model([text("one"), bash("touch made.txt")], text("done"), text("two"))
    threads: list[str] = []

    def decide(request: PermissionRequest) -> bool:
        threads.append(threading.current_thread().name)
        return True

    def program() -> Any:
        with blocking.Session(session_options(api, can_use_tool=decide)) as session:
            turn = session.send("first")
            messages = list(turn)
            second = session.send("second").wait()
            return messages, turn.result, second, session.get_binary_version(), session.id

    messages, result, second, version, identifier = await plainly(program)
    assert [message.text for message in of(AssistantMessage, messages)] == ["one", "", "done"]
    assert isinstance(messages[-1], ResultMessage)
    assert (result.text, second.text) == ("done", "two")
    assert version.version.startswith("2.")
    assert second.session_id == identifier
    assert (lab.project / "made.txt").exists()
    assert threading.main_thread().name not in threads
    assert texts_sent(api.main_requests[2]) == ["first", "second"]


async def test_blocking_turn_streams_text(model: Model, session_options: SessionOptions):
    def program() -> list[str]:
        options = session_options(model(text("Once upon a time")), include_partial_messages=True)
        with blocking.Session(options) as session:
            return list(session.send("go").text())

    pieces = await plainly(program)
    assert ("".join(pieces), len(pieces) > 1) == ("Once upon a time", True)


async def test_blocking_query(model: Model, session_options: SessionOptions):
    options = session_options(model(text("Blue.")))
    messages = await plainly(lambda: list(blocking.query("which colour?", options)))
    assert messages[-1].text == "Blue."


async def test_blocking_session_with_tools(model: Model, session_options: SessionOptions):
    def double(number: int) -> int:
        return number * 2

    api = model(tool_use("mcp__maths__double", number=4), text("done"))
    options = session_options(api, mcp_servers=[mcp_server("maths", [double])], allowed_tools=["mcp__maths"])

    def program() -> str:
        with blocking.Session(options) as session:
            return session.ask("go").text

    assert await plainly(program) == "done"
    assert results_sent(api.main_requests[1]) == ["8"]


async def test_a_turn_is_interrupted_from_another_thread(model: Model, session_options: SessionOptions):
    api = model([text("Once upon"), hang()], text("as you wish"))

    def program() -> tuple[str, str]:
        with blocking.Session(session_options(api)) as session:
            turn = session.send("go")
            stopper = threading.Thread(target=lambda: (release.wait(LIMIT), session.interrupt()))
            stopper.start()
            reason = turn.wait().reason
            stopper.join()
            return reason, session.ask("else").text

    release = threading.Event()
    running = asyncio.create_task(plainly(program))
    async with asyncio.timeout(LIMIT):
        await api.hanging()
        release.set()
        assert await running == ("aborted_streaming", "as you wish")


async def test_exception_in_a_blocking_program_leaves_no_processes(
    model: Model, session_options: SessionOptions, lab: Lab
):
    def program() -> None:
        with blocking.Session(session_options(model(text("hi")))) as session:
            session.ask("hello")
            raise LookupError("my own")

    with pytest.raises(LookupError, match="my own"):
        await plainly(program)
    assert lab.leftovers() == []
