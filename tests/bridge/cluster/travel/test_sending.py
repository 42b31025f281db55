"""Sending beside all else: threads are waited for, and files that come and go stop nothing."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from handrail.bridge.cluster.link.names import TRANSCRIPTS
from handrail.bridge.cluster.travel.manifest import Manifest
from handrail.bridge.cluster.travel.pieces import Pieces
from handrail.bridge.cluster.travel.sending import Sending, in_thread
from handrail.transcripts import SessionFile, SessionNotFound
from tests.bridge.cluster.real_store import real_store

NOTHING = (0, 0, 0, 0, 0)


async def test_whoever_is_cancelled_waits_for_what_its_thread_does_however_often():
    begun, may_end, ended = asyncio.Event(), threading.Event(), list[bool]()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(60)
        ended.append(True)

    async with asyncio.timeout(60):
        task = asyncio.create_task(in_thread(work))
        await begun.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == [True]


async def test_a_file_that_has_gone_is_left_out_but_not_the_transcript(tmp_path: Path):
    file = SessionFile(tmp_path, "project", "session")
    file.folder.mkdir(parents=True)
    async with real_store(tmp_path) as store:
        sending = Sending(Pieces(store.js, TRANSCRIPTS), "session", file, Manifest(conversation=""), {})
        assert await sending.send({"tool-results/gone.txt": NOTHING}) == ()
        with pytest.raises(SessionNotFound):
            await sending.send({"": NOTHING})
        assert sending.sent == []


async def test_a_very_long_line_that_is_being_written_is_not_sent(tmp_path: Path):
    file = SessionFile(tmp_path, "project", "session")
    file.path.parent.mkdir(parents=True)
    async with real_store(tmp_path) as store:
        for before in (b"", b"{}\n"):
            file.path.write_bytes(before + b"x" * 200_000)
            sending = Sending(Pieces(store.js, TRANSCRIPTS), "session", file, Manifest(conversation=""), {})
            (kept,) = await sending.send({"": NOTHING})
            assert kept.size == len(before)
