"""A recording as a transport for a session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handrail import Allow, Options, PermissionRequest, Session
from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.recording import RecordingTransport
from handrail.transport.recording_file import End, Recording, Row, read_recording
from handrail.transport.replay_transport import ReplayTransport

HELLO = Recording(
    rows=[
        Row(0.0, "in", b'{"type":"user"}'),
        Row(0.1, "out", b'{"type":"assistant"}'),
        Row(30.0, "err", b"careful"),
        Row(60.0, "out", b'{"type":"result"}'),
        Row(60.0, "in", b"", eof=True),
    ],
    end=End(61.0, 1),
)


async def test_speed_0_plays_without_pauses_and_ends_as_recorded():
    transport, heard = ReplayTransport(HELLO), list[bytes]()
    transport.on_stderr = heard.append
    async with asyncio.timeout(10):
        await transport.start()
        await transport.send(b'{"type":"us')
        await transport.send(b'er"}\n')
        assert await transport.receive() == b'{"type":"assistant"}\n{"type":"result"}\n'
        await transport.end_input()
        assert await transport.receive() == b""
        with pytest.raises(TransportClosed, match="recorded process has ended"):
            await transport.send(b"{}\n")
        assert await transport.close() == Ending(code=1, stderr="careful\n")
    assert heard == [b"careful\n"]


async def test_waiting_reader_is_woken_when_something_is_due():
    transport = ReplayTransport(HELLO)
    reading = asyncio.create_task(transport.receive())
    await asyncio.sleep(0)
    await transport.send(b'{"type":"user"}\n')
    async with asyncio.timeout(10):
        assert b"assistant" in await reading
        waiting = asyncio.create_task(transport.receive())
        await asyncio.sleep(0)
        await transport.close()
        assert await waiting == b""


async def test_speed_keeps_gaps_but_refusals_are_immediate():
    transport = ReplayTransport(HELLO, speed=10)
    async with asyncio.timeout(10):
        await transport.send(b'{"type":"user"}\n')
        assert await transport.receive() == b'{"type":"assistant"}\n'
        reading = asyncio.create_task(transport.receive())
        await asyncio.sleep(0)
        await transport.send(b'{"type":"control_request","request_id":"a","request":{"subtype":"interrupt"}}\n')
        assert b"not_in_recording" in await reading
        await transport.close()


def test_a_negative_speed_is_refused():
    with pytest.raises(ValueError, match="speed"):
        ReplayTransport(HELLO, speed=-1)


def conversation(folder: Path) -> Path:
    """A recording with a permission request, made by a client with other ids."""
    path = folder / "talk.ndjson"
    path.write_bytes(
        b'{"handrail":"recording","version":1,"argv":[],"started":""}\n'
        b'{"t":0,"dir":"in","raw":"{\\"type\\":\\"user\\",\\"uuid\\":\\"u\\",\\"message\\":{}}"}\n'
        b'{"t":0,"dir":"out","raw":"{\\"type\\":\\"command_lifecycle\\",\\"command_uuid\\":\\"u\\",'
        b'\\"state\\":\\"started\\"}"}\n'
        b'{"t":0,"dir":"out","raw":"{\\"type\\":\\"control_request\\",\\"request_id\\":\\"q\\",\\"request\\":'
        b'{\\"subtype\\":\\"can_use_tool\\",\\"tool_name\\":\\"Bash\\",\\"input\\":{\\"command\\":\\"ls\\"},'
        b'\\"tool_use_id\\":\\"t\\"}}"}\n'
        b'{"t":0,"dir":"in","raw":"{\\"type\\":\\"control_response\\",\\"response\\":{\\"subtype\\":\\"success\\",'
        b'\\"request_id\\":\\"q\\",\\"response\\":{}}}"}\n'
        b'{"t":0,"dir":"out","raw":"{\\"type\\":\\"result\\",\\"subtype\\":\\"success\\",\\"is_error\\":false,'
        b'\\"result\\":\\"done\\",\\"session_id\\":\\"s\\",\\"user_message_uuids\\":[\\"u\\"]}"}\n'
        b'{"t":0,"dir":"in","eof":true}\n{"t":0,"exit":0}\n'
    )
    return path


async def test_session_works_with_a_recording(tmp_path: Path):
    asked: list[str] = []

    async def permit(request: PermissionRequest) -> Allow:
        asked.append(request.tool_name)
        return Allow()

    transport = ReplayTransport(conversation(tmp_path))
    async with asyncio.timeout(20), Session(Options(can_use_tool=permit), transport=transport) as session:
        turn = await session.send("anything")
        async for _ in turn:
            pass
        assert (turn.result and turn.result.text, asked) == ("done", ["Bash"])


async def test_the_recording_of_a_replay_can_be_replayed(tmp_path: Path):
    first, again = conversation(tmp_path), tmp_path / "again.ndjson"
    assert await said_through(RecordingTransport(ReplayTransport(first), again)) == "done"
    assert await said_through(ReplayTransport(again)) == "done"
    assert read_recording(again).end is not None


async def said_through(transport: Transport) -> str:
    options = Options(can_use_tool=lambda request: Allow())
    async with asyncio.timeout(20), Session(options, transport=transport) as session:
        turn = await session.send("anything")
        async for _ in turn:
            pass
        assert turn.result
        return turn.result.text
