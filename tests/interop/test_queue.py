"""Several messages at a time: queued, merged, added to the turn, cancelled."""

from __future__ import annotations

import pytest

from handrail import MessageReader, TurnCancelled
from handrail.schema.activity_messages import CommandLifecycleMessage
from handrail.testing import hang, text
from tests.interop.scenario import Model, Talk, bash, everything_sent, texts_sent


async def queued(reader: MessageReader, *uuids: str) -> None:
    """Wait until the CLI has reported these messages as queued."""
    waiting = set(uuids)
    async for message in reader:
        if isinstance(message, CommandLifecycleMessage) and message.state == "queued":
            waiting.discard(message.command_uuid)
        if not waiting:
            return


async def test_messages_sent_while_a_turn_runs_are_merged_and_share_one_result(model: Model, talk: Talk):
    api = model([text("one"), hang()], text("two and three"))
    async with talk(api) as session:
        reader = session.messages()
        first = await session.send("a")
        await api.hanging()
        second, third = await session.send("b"), await session.send("c")
        await queued(reader, second.uuid, third.uuid)
        assert not second.done
        api.release()
        assert (await first).text == "one"
        assert (await second).text == "two and three"
        assert (await third) == second.result
    assert len(api.main_requests) == 2
    assert texts_sent(api.main_requests[1])[0] == "a"
    assert [word in everything_sent(api.main_requests[1]) for word in "bc"] == [True, True]
    assert second.result.message.user_message_uuids == [second.uuid, third.uuid]


async def test_message_sent_before_a_tool_runs_joins_the_turn(model: Model, talk: Talk):
    api = model([text("start"), hang(), bash("echo hi")], text("both answered"))
    async with talk(api) as session:
        reader = session.messages()
        first = await session.send("begin")
        await api.hanging()
        second = await session.send("and mind the step")
        await queued(reader, second.uuid)
        api.release()
        assert (await second) == (await first)
        assert first.result.text == "both answered"
        assert not session.running
    assert len(api.main_requests) == 2
    assert "and mind the step" in everything_sent(api.main_requests[1])


async def test_queued_message_is_cancelled(model: Model, talk: Talk):
    api = model([text("one"), hang()], text("never"))
    async with talk(api) as session:
        reader = session.messages()
        first = await session.send("a")
        await api.hanging()
        second = await session.send("b")
        await queued(reader, second.uuid)
        assert await second.cancel() is True
        with pytest.raises(TurnCancelled) as caught:
            await second
        assert caught.value.uuid == second.uuid
        assert await first.cancel() is False
        api.release()
        assert (await first).text == "one"
        assert (await session.ask("c")).text == "never"
    assert texts_sent(api.main_requests[1]) == ["a", "c"]


async def test_message_without_a_query_is_added_to_the_conversation(model: Model, talk: Talk):
    api = model(text("noted"))
    async with talk(api) as session:
        quiet = await session.send("The sky is green.", should_query=False)
        result = await quiet
        assert (result.text, result.is_error) == ("", False)
        assert api.main_requests == []
        assert (await session.ask("What did I say?")).text == "noted"
    assert [said.strip() for said in texts_sent(api.main_requests[0])] == ["The sky is green.", "What did I say?"]


async def test_interrupt_can_cancel_queued_messages(model: Model, talk: Talk):
    api = model([text("one"), hang()], text("fresh"))
    async with talk(api) as session:
        reader = session.messages()
        first = await session.send("a")
        await api.hanging()
        second = await session.send("b")
        await queued(reader, second.uuid)
        answer = await session.interrupt(cancel_queued=True)
        assert answer.cancelled == [second.uuid]
        assert (await first).reason == "aborted_streaming"
        with pytest.raises(TurnCancelled):
            await second
        assert (await session.ask("c")).text == "fresh"


async def test_a_queued_message_survives_an_interrupt(model: Model, talk: Talk):
    api = model([text("one"), hang()], text("two"))
    async with talk(api) as session:
        reader = session.messages()
        first = await session.send("a")
        await api.hanging()
        second = await session.send("b")
        await queued(reader, second.uuid)
        answer = await session.interrupt()
        assert answer.still_queued == [second.uuid]
        assert (await first).is_error
        assert (await second).text == "two"
