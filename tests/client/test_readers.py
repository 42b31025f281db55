"""The readers of a session: independent, and removed when unused."""

import asyncio
import gc
import json

import pytest

from handrail import InboxFull, Options, Session
from handrail.client.readers import Channel, FrameReader, Readers
from handrail.protocol import BadLine
from handrail.testing import ScriptedCli, hold
from handrail.testing.scripted_lines import stream_line
from tests.client.conversation import joined


async def test_readers_see_messages_from_their_creation_on():
    cli = ScriptedCli([["One", hold("end")], ["Two"]])
    async with joined(cli) as session:
        first = session.messages()
        turn = await session.send("1")
        await cli.until(lambda: "end" in cli.held)
        second = session.messages()
        cli.release("end")
        await turn
        await session.ask("2")
    seen = [message.raw async for message in first]
    late = [message.raw async for message in second]
    kinds = [json.loads(raw)["type"] for raw in seen]
    assert kinds[:5] == ["command_lifecycle", "command_lifecycle", "system", "assistant", "result"]
    assert late == seen[4:]


async def test_slow_reader_does_not_delay_others():
    cli = ScriptedCli([[stream_line("x" * 1000)] * 2000], replies={"get_binary_version": {"version": "1"}})
    async with joined(cli, Options(inbox_limit=10_000)) as session:
        slow, fast = session.messages(), session.messages()
        await session.ask("Hi")
        assert (await session.get_binary_version()).version == "1"
    assert len([1 async for message in fast if message.type == "stream_event"]) == 2000
    assert len([1 async for message in slow if message.type == "stream_event"]) == 2000


async def test_reader_has_its_own_policy():
    cli = ScriptedCli([[*[stream_line("x" * 1000)] * 10, hold("more"), *[stream_line("y")] * 10]])
    async with joined(cli) as session:
        dropping = session.messages(limit=2000, policy="drop_partials")
        failing = session.messages(limit=2000, policy="fail")
        turn = await session.send("Hi")
        await cli.until(lambda: "more" in cli.held)
        await session.rename_session("T")  # what came before its answer has arrived in one piece
        cli.release("more")
        await turn
    kinds = [message.type async for message in dropping]
    assert (kinds.count("stream_event"), dropping.dropped) == (10, 10)
    assert "result" in kinds
    with pytest.raises(InboxFull):
        async for _ in failing:
            pass


async def test_closed_reader_ends():
    cli = ScriptedCli([["One"]])
    async with joined(cli) as session:
        async with session.messages() as messages, session.frames() as frames, session.turns() as turns:
            pass
        await session.ask("Hi")
        for reader in (messages, frames, turns):
            assert [item async for item in reader] == []


async def test_garbage_collected_reader_is_removed():
    async with joined(ScriptedCli()) as session:
        readers = [session.messages(), session.frames(), session.turns()]
        followed = (session._messages, session._frames, session._new_turns)
        assert [len(whom.inboxes) for whom in followed] == [1, 1, 1]
        readers.clear()
        gc.collect()
        assert [len(whom.inboxes) for whom in followed] == [0, 0, 0]


async def test_readers_end_with_the_session():
    async with joined(ScriptedCli()) as session:
        early = (session.messages(), session.frames(), session.turns())
    async with asyncio.timeout(5):
        for reader in (*early, session.messages(), session.frames(), session.turns()):
            async for _ in reader:
                pass


async def test_frames_include_both_directions_control_and_bad_lines():
    cli = ScriptedCli([[b"this is no json", "One"]])
    async with joined(cli) as session:
        frames = session.frames()
        await session.ask("Hi")
        await session.rename_session("T")
    seen = [(direction, type(frame).__name__, frame.raw) async for direction, frame in frames]
    kinds = [(direction, kind) for direction, kind, _ in seen]
    assert kinds[0] == ("in", "Message")
    assert ("out", "BadLine", b"this is no json") in seen
    assert kinds.index(("in", "Request")) < kinds.index(("out", "Success"))


async def test_bad_line_is_counted_and_skipped():
    cli = ScriptedCli([[b"{", b'{"type":"control_request"}', "One"]])
    async with joined(cli) as session:
        frames = session.frames()
        assert (await session.ask("Hi")).text == "One"
        assert session._connection is not None
        assert session._connection.bad_lines == 2
    assert len([frame async for _, frame in frames if isinstance(frame, BadLine)]) == 2


async def test_frames_before_the_start_include_the_handshake():
    cli = ScriptedCli()
    session = Session(transport=cli.transport)
    frames = session.frames()
    async with asyncio.timeout(5), session:
        pass
    assert [(direction, type(frame).__name__) async for direction, frame in frames] == [
        ("in", "Request"),
        ("out", "Success"),
    ]


async def test_frames_are_forwarded_from_the_first_unread_one():
    cli = ScriptedCli([["One"], ["Two"]])
    seen: list[tuple[str, str]] = []
    session = Session(transport=cli.transport)
    frames = session.frames()
    async with asyncio.timeout(5), session:
        assert (await anext(frames))[0] == "in"
        frames.forward(lambda direction, frame: seen.append((direction, type(frame).__name__)))
        assert seen == [("out", "Success")]
        await session.ask("Hi")
        assert ("in", "Message") in seen
        before = len(seen)
        await frames.aclose()
        await session.ask("Again")
    assert len(seen) == before


async def test_turns_yields_every_turn():
    cli = ScriptedCli([["One"]])
    async with joined(cli) as session:
        turns = session.turns()
        asked = await session.send("Hi")
        await asked
        await cli.begin("Two")
        await session.rename_session("T")  # everything before its answer has arrived
        first, second = await anext(turns), await anext(turns)
    assert first is asked
    assert (second.from_cli, second.result.text) == (True, "Two")


async def test_channel_wakes_its_reader():
    channel: Channel[int] = Channel()
    reader = FrameReader(channel)  # type: ignore[arg-type]
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        waiting = group.create_task(anext(reader))
        await asyncio.sleep(0)
        channel.put(1)
        assert await waiting == 1
        channel.put(2)
        channel.end()
        channel.put(3)
        assert [item async for item in reader] == [2]


def test_only_the_closed_reader_is_removed():
    class Reader:
        pass

    readers: Readers[Channel[int]] = Readers()
    first, second, one, two = Reader(), Reader(), Channel[int](), Channel[int]()
    readers.follow(first, one)
    readers.follow(second, two)
    del first
    gc.collect()
    assert readers.inboxes == [two]
