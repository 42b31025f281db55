"""A recorded transport behaves like the inner one and records everything."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.memory import memory_pair
from handrail.transport.process import ProcessTransport
from handrail.transport.recording import RecordingTransport
from handrail.transport.recording_file import End, read_recording


class Scripted(Transport):
    """Returns prepared chunks; has stderr only at the end."""

    def __init__(self, *pieces: bytes, ending: Ending | None = None, stderr: str = "") -> None:
        self.pieces, self.ending, self.errors, self.sent = list(pieces), ending or Ending(code=0), stderr, b""

    async def start(self) -> None: ...

    async def receive(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    async def send(self, data: bytes) -> None:
        self.sent += data

    async def end_input(self) -> None: ...

    async def close(self) -> Ending:
        return self.ending

    @property
    def stderr(self) -> str:
        return self.errors


class Talking(Scripted):
    """Reports its stderr as it arrives."""

    on_stderr: Callable[[bytes], None] | None = None


class Unstartable(Scripted):
    async def start(self) -> None:
        raise FileNotFoundError("no such executable")


async def test_both_directions_and_the_ending_are_recorded(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    inner = Scripted(b"answ", b"er\n", ending=Ending(code=3, stderr="oh\n"), stderr="oh\n")
    transport = RecordingTransport(inner, path, argv=["claude"], secrets={"A_TOKEN": "secret-value"})
    await transport.start()
    await transport.send(b"question secret-value\n")
    assert [await transport.receive(), await transport.receive()] == [b"answ", b"er\n"]
    await transport.end_input()
    assert await transport.receive() == b""
    assert await transport.close() == Ending(code=3, stderr="oh\n")
    recording = read_recording(path)
    assert inner.sent == b"question secret-value\n"
    assert [(row.dir, row.wire) for row in recording.rows] == [
        ("in", b"question ***\n"),
        ("out", b"answer\n"),
        ("in", b""),
        ("err", b"oh\n"),
    ]
    assert (recording.end and recording.end.code, recording.header.argv) == (3, ("claude",))


async def test_stderr_is_recorded_as_it_arrives(tmp_path: Path):
    path, heard = tmp_path / "talk.ndjson", list[bytes]()
    inner = Talking(stderr="not this again")
    inner.on_stderr = heard.append
    transport = RecordingTransport(inner, path)
    await transport.start()
    assert inner.on_stderr is not None
    inner.on_stderr(b"warning\n")
    await transport.close()
    rows = read_recording(path).rows
    assert ([row.data for row in rows if row.dir == "err"], heard) == ([b"warning"], [b"warning\n"])


async def test_close_records_end_of_input_unless_the_other_side_ended_first(tmp_path: Path):
    for name, reads in (("left", 0), ("went", 1)):
        transport = RecordingTransport(Scripted(), tmp_path / name)
        await transport.start()
        for _ in range(reads):
            assert await transport.receive() == b""
        await transport.close()
        await transport.close()
        assert sum(row.eof for row in read_recording(tmp_path / name).rows) == 1 - reads


async def test_a_child_process_is_recorded_with_its_stderr(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    child = ProcessTransport(["sh", "-c", "read line; echo got $line; echo oops >&2; exit 4"])
    transport = RecordingTransport(child, path)
    async with asyncio.timeout(20):
        await transport.start()
        assert transport.pid == child.pid
        await transport.send(b"hello\n")
        assert await transport.receive() == b"got hello\n"
        assert await transport.receive() == b""
        ending = await transport.close()
    recording = read_recording(path)
    assert (ending.code, transport.stderr) == (4, "oops")
    assert sorted((row.dir, row.data) for row in recording.rows) == [
        ("err", b"oops"),
        ("in", b"hello"),
        ("out", b"got hello"),
    ]
    assert recording.end == End(recording.end.t if recording.end else 0, 4)


async def test_failing_file_does_not_affect_the_conversation(caplog: pytest.LogCaptureFixture):
    file = io.BytesIO()
    left, right = memory_pair()
    transport = RecordingTransport(left, file)
    await transport.start()
    file.close()
    await transport.send(b"still there\n")
    assert await right.receive() == b"still there\n"
    await right.send(b"yes\n")
    assert await transport.receive() == b"yes\n"
    await transport.close()
    assert (transport.incomplete, len(caplog.records)) == (True, 1)


async def test_existing_recording_is_refused_before_the_start(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    path.write_text("old")
    with pytest.raises(FileExistsError, match="exists"):
        await RecordingTransport(Scripted(), path).start()
    transport = RecordingTransport(Scripted(), path, overwrite=True)
    await transport.start()
    await transport.close()
    assert read_recording(path).header.version == 1


async def test_failed_start_leaves_no_recording(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    with pytest.raises(FileNotFoundError, match="no such executable"):
        await RecordingTransport(Unstartable(), path).start()
    assert not path.exists()


async def test_errors_of_the_inner_transport_pass_through(tmp_path: Path):
    left, right = memory_pair()
    transport = RecordingTransport(left, tmp_path / "talk.ndjson")
    await transport.start()
    await right.close()
    with pytest.raises(TransportClosed):
        await transport.send(b"anyone?\n")
    await transport.close()
