"""Stream events come in floods and take a shorter way. It must lead to the same messages as the ordinary one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handrail import Options, Session, StreamEvent, UnknownMessage
from handrail.client.inbox import FEW, Inbox, Views
from handrail.protocol import Message
from handrail.protocol.codec import SHORT
from handrail.schema.messages import read_partials
from tests.client.scripted_cli import write_cli

PATIENCE = 20.0


def event(text: str) -> str:
    delta = f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}'
    return f'{{"type":"stream_event","event":{delta},"parent_tool_use_id":null,"uuid":"u"}}'


PLAIN = [event("a"), event("b"), event("")]
NOT_ASCII = [event("é"), event("日本"), event("\u2028")]
LONG = [event("a"), event("x" * SHORT), event("b")]
ODD = [event("a"), '{"type":"stream_event"}', '{"type":"stream_event","event":{"index":null}}', event("b")]
OTHERS = [event("a"), '{"type":"tool_progress","tool_name":"Bash"}', '{"type":"system","subtype":"new"}', event("b")]
REORDERED = ['{"event":{"type":"ping"},"type":"stream_event"}', '{"event":{"type":"ping"},"type":"later"}', event("b")]
BROKEN = [event("a"), '{"type":"stream_event","event":{"type":', event("b"), "no json", '["stream_event"]', event("c")]
CHUNKS = {
    "plain": PLAIN,
    "not_ascii": NOT_ASCII,
    "long": LONG,
    "odd": ODD,
    "others": OTHERS,
    "reordered": REORDERED,
    "broken": BROKEN,
}
BAD = {"broken": 3}


async def seen_by(folder: Path, lines: list[str], *, followers: int = 0, tap: bool = False) -> tuple[list[bytes], int]:
    """What the reader of a turn sees of lines that arrive in one piece, and how many bad lines were counted."""
    cli = write_cli(folder, f"prompt()\nsay_raw(*{lines!r})\nsay(result())")
    async with asyncio.timeout(PATIENCE), Session(Options(cli_path=cli)) as session:
        readers = [session.messages() for _ in range(followers)]
        frames = session.frames() if tap else None
        turn = await session.send("go")
        seen = [message.raw async for message in turn]
        connection = session._connection
        assert connection is not None
    for reader in readers:
        assert [message.raw async for message in reader if message.raw in seen] == seen
    del frames
    return seen, connection.bad_lines


@pytest.mark.parametrize("name", CHUNKS)
async def test_every_way_leads_to_the_same_messages(tmp_path: Path, name: str):
    lines = CHUNKS[name]
    alone = await seen_by(tmp_path, lines)
    good = [line.encode() for line in lines if '"type":' in line and line.endswith("}")]
    assert [raw for raw in alone[0] if raw in good] == good
    assert alone[1] == BAD.get(name, 0)
    kinds = [raw for raw in alone[0] if b'"stream_event"' in raw]
    for other in (await seen_by(tmp_path, lines, followers=1), await seen_by(tmp_path, lines, tap=True)):
        assert [raw for raw in other[0] if b'"stream_event"' in raw] == kinds
        assert other[1] == alone[1]


async def test_a_malformed_event_is_reported_and_the_next_one_arrives(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    seen, bad = await seen_by(tmp_path, BROKEN)
    assert (bad, [event(letter).encode() in seen for letter in "abc"]) == (3, [True, True, True])
    assert [record.getMessage()[:8] for record in caplog.records].count("bad line") == 3


async def test_text_that_is_not_utf8_is_reported(tmp_path: Path):
    script = f"""
        prompt()
        line = {event("?")!r}.encode()
        sys.stdout.buffer.write(line + b"\\n" + line.replace(b"?", b"\\xff") + b"\\n" + line + b"\\n")
        sys.stdout.buffer.flush()
        say(result())
    """
    cli = write_cli(tmp_path, script)
    async with asyncio.timeout(PATIENCE), Session(Options(cli_path=cli)) as session:
        turn = await session.send("go")
        assert [message.text async for message in turn if isinstance(message, StreamEvent)] == ["?", "?"]
        assert session._connection is not None
        assert session._connection.bad_lines == 1


async def test_an_event_of_unknown_shape_is_shown_with_the_problem(tmp_path: Path):
    cli = write_cli(tmp_path, f"prompt()\nsay_raw(*{ODD!r})\nsay(result())")
    async with asyncio.timeout(PATIENCE), Session(Options(cli_path=cli)) as session:
        turn = await session.send("go")
        unknown = [message.problem async for message in turn if isinstance(message, UnknownMessage)]
    assert len(unknown) == 1
    assert "event" in unknown[0]


async def test_a_reader_that_lags_behind_keeps_lines_instead_of_views(tmp_path: Path):
    count = 5 * FEW
    cli = write_cli(tmp_path, f"prompt()\nfor i in range({count}): say(partial(str(i)))\nsay(result())")
    async with asyncio.timeout(PATIENCE), Session(Options(cli_path=cli, inbox_limit=50_000)) as session:
        turn = await session.send("go")
        await turn
        views = [item for item in turn.inbox.queue if isinstance(item, StreamEvent)]
        texts = [message.text async for message in turn if isinstance(message, StreamEvent)]
    assert len(views) < 2 * FEW
    assert texts == [str(number) for number in range(count)]


def lines_of(count: int) -> list[bytes]:
    return [event(str(number)).encode() for number in range(count)]


async def test_an_inbox_gives_events_back_as_frames():
    inbox, lines = Inbox(), lines_of(4)
    views = read_partials(lines[:2], below=SHORT)
    assert views is not None
    inbox.put_partials(lines[:2], views)
    inbox.put_partials(lines[2:])
    assert await inbox.get() == Message(lines[0], "stream_event")
    assert inbox.drain() == [Message(line, "stream_event") for line in lines[1:]]


async def test_an_inbox_spills_events_like_messages():
    inbox, lines = Inbox(limit=500), lines_of(200)
    for line in lines:
        inbox.put_partials([line])
    assert len(inbox.queue) < 10
    inbox.end()
    inbox.put_partials(lines)  # after the end: ignored
    assert [view.raw async for view in Views(inbox, None)] == lines
    assert not inbox.is_read_at_once


async def test_a_waiting_reader_is_woken_by_events():
    inbox, lines = Inbox(), lines_of(1)
    waiting = asyncio.create_task(inbox.next())
    await asyncio.sleep(0)
    inbox.put_partials(lines)
    assert await waiting == lines[0]
