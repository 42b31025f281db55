"""Stop, in each phase of a turn; and what becomes of messages that wait."""

from __future__ import annotations

import asyncio
import os

import pytest

from handrail import (
    AssistantMessage,
    MessageReader,
    StreamEvent,
    ToolContext,
    Turn,
    TurnCancelled,
    UserMessage,
    mcp_server,
    tool,
)
from handrail.schema.activity_messages import CommandLifecycleMessage
from handrail.testing import Lab, When, hang, reply, text, tool_use
from tests.contract.conftest import Talk
from tests.interop.scenario import bash, ended, first_line, of, results_seen


async def until_it_speaks(turn: Turn) -> None:
    """Returns when the first words of the model have come."""
    async for message in turn:
        if isinstance(message, AssistantMessage | StreamEvent) and message.text:
            return


async def queued(reader: MessageReader, *uuids: str) -> None:
    """Returns when the agent has said that it has queued these messages."""
    waiting = set(uuids)
    async for message in reader:
        if isinstance(message, CommandLifecycleMessage) and message.state == "queued":
            waiting.discard(message.command_uuid)
        if not waiting:
            return


async def test_before_the_model_has_said_anything(talk: Talk):
    fine = reply(text("fine"), when=When(prompt="again"))
    async with talk(fine, [hang()]) as session:
        turn = await session.send("go")
        async for _ in turn:
            break  # the very first line: perhaps the model has not even been asked
        await session.interrupt()
        assert (await turn).reason == "aborted_streaming"
        assert (await session.ask("again")).text == "fine"


async def test_while_the_model_writes(talk: Talk):
    words = [text("Once upon a time", unfinished=True), hang()]
    async with talk(words, text("as you wish"), include_partial_messages=True) as session:
        turn = await session.send("a story")
        await until_it_speaks(turn)
        assert (await session.interrupt()).still_queued == []
        messages = [message async for message in turn]
        assert (turn.result.is_error, turn.result.reason) == (True, "aborted_streaming")
        assert (await session.ask("something else")).text == "as you wish"
    assert [message.aborted for message in of(AssistantMessage, messages)] == [True]
    assert "[Request interrupted by user]" in {message.text for message in of(UserMessage, messages)}


async def test_while_a_command_runs(talk: Talk, lab: Lab):
    fifo = lab.project / "pipe"
    os.mkfifo(fifo)
    command = bash("echo $$ > pipe; while true; do sleep 1; done; touch never")
    async with talk(command, text("stopped"), can_use_tool=lambda request: True) as session:
        turn = await session.send("run it")
        pid = int(await first_line(fifo))
        await session.interrupt()
        messages = [message async for message in turn]
        await ended(pid)
        assert turn.result.reason == "aborted_tools"
        assert (await session.ask("well?")).text == "stopped"
    assert [result.is_error for result in results_seen(messages)] == [True]
    assert not (lab.project / "never").exists()


async def test_while_a_tool_of_the_client_runs(talk: Talk):
    called, cancelled = asyncio.Event(), asyncio.Event()

    @tool
    async def sleep(context: ToolContext) -> str:
        called.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    server = mcp_server("bed", [sleep])
    replies = [tool_use("mcp__bed__sleep"), text("awake")]
    async with talk(*replies, mcp_servers=[server], allowed_tools=["mcp__bed"]) as session:
        turn = await session.send("sleep")
        await called.wait()
        await session.interrupt()
        await cancelled.wait()
        assert (await turn).reason == "aborted_tools"
        assert (await session.ask("awake?")).text == "awake"


async def test_while_a_subagent_works(talk: Talk):
    call = tool_use(
        "Task", description="looks", prompt="look it up", subagent_type="general-purpose", run_in_background=False
    )
    busy = reply(text("Halfway."), hang(), when=When(prompt="look it up"))
    async with talk(call, busy, text("fine"), forward_subagent_text=True) as session:
        turn = await session.send("go")
        await until_it_speaks(turn)
        await session.interrupt()
        assert (await turn).reason == "aborted_tools"
        assert (await session.ask("again")).text == "fine"


async def test_with_nothing_to_stop(talk: Talk):
    async with talk(text("one"), text("two")) as session:
        await session.interrupt()
        assert (await session.ask("a")).text == "one"
        await session.interrupt()
        assert (await session.ask("b")).text == "two"


async def test_messages_that_wait_survive_and_share_one_result(talk: Talk):
    async with talk([text("one"), hang()], text("two and three")) as session:
        reader = session.messages()
        first = await session.send("a")
        await until_it_speaks(first)
        second, third = await session.send("b"), await session.send("c")
        await queued(reader, second.uuid, third.uuid)
        assert set((await session.interrupt()).still_queued) == {second.uuid, third.uuid}
        assert (await first).is_error
        assert (await second).text == "two and three"
        assert (await third) == second.result
    assert second.result.message.user_message_uuids == [second.uuid, third.uuid]


async def test_messages_that_wait_go_too_where_that_is_wanted(talk: Talk):
    async with talk([text("one"), hang()], text("fresh")) as session:
        reader = session.messages()
        first = await session.send("a")
        await until_it_speaks(first)
        second = await session.send("b")
        await queued(reader, second.uuid)
        assert (await session.interrupt(cancel_queued=True)).cancelled == [second.uuid]
        assert (await first).is_error
        with pytest.raises(TurnCancelled):
            await second
        assert (await session.ask("c")).text == "fresh"


async def test_one_message_that_waits_is_taken_back(talk: Talk):
    async with talk([text("one"), hang()], text("next")) as session:
        reader = session.messages()
        first = await session.send("a")
        await until_it_speaks(first)
        second = await session.send("b")
        await queued(reader, second.uuid)
        assert await second.cancel() is True
        with pytest.raises(TurnCancelled):
            await second
        assert await first.cancel() is False
        await session.interrupt()
        await first
        assert (await session.ask("c")).text == "next"


async def test_a_message_joins_the_turn_that_runs_between_two_rounds(talk: Talk, lab: Lab):
    begun, go = lab.project / "begun", lab.project / "go"
    os.mkfifo(begun)
    os.mkfifo(go)
    both = reply(text("both answered"), when=When(prompt="mind the step"))
    async with talk(bash("echo yes > begun; cat go"), both, can_use_tool=lambda request: True) as session:
        reader = session.messages()
        first = await session.send("begin")
        assert await first_line(begun) == "yes"
        second = await session.send("and mind the step")
        await queued(reader, second.uuid)
        await asyncio.to_thread(go.write_text, "go")
        assert (await second) == (await first)
        assert first.result.text == "both answered"
