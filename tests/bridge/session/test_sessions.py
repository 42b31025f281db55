"""The sessions of a server: one host each, created when needed, unloaded when unused, removed when deleted."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session import sessions
from handrail.bridge.store.base import SessionRecord
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli

ANSWERS = """
    while True:
        say(result(prompt()))
"""


def is_alive(pid: int | None) -> bool:
    return pid is not None and os.path.exists(f"/proc/{pid}")


async def test_concurrent_requests_get_the_same_host(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        on.bridge.sessions._hosts.clear()
        hosts = await asyncio.gather(*(on.host(session) for _ in range(10)))
        assert len(set(map(id, hosts))) == 1


async def test_concurrent_starts_create_one_process(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        await asyncio.gather(*(on.do("resume", session=session) for _ in range(5)))
        async with on.viewer(session) as viewer:
            await viewer.until_state("idle")
            assert len(viewer.of("started")) == 2


async def test_unused_host_is_unloaded_and_restored(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="hello")
            await viewer.until_result()
            await on.do("stop", session=session)
            on.clock.now += 1000
            await on.bridge.sessions.sweep()
            assert session in on.bridge.sessions._hosts, "a client follows it"
        first = await on.host(session)
        await on.bridge.sessions.sweep()
        assert session in on.bridge.sessions._hosts, "it was requested just now"
        on.clock.now += 61
        await on.bridge.sessions.sweep()
        assert session not in on.bridge.sessions._hosts
        assert await on.bridge.sessions.ownership.owner(session) == "", "another machine may claim it"
        again = await on.host(session)
        assert again is not first
        assert await on.bridge.sessions.ownership.owner(session) == "here"
        assert (again.seq, again.record.title) == (first.seq, "hello")
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="once more")
            await viewer.until_result(2)


async def test_failed_sweep_and_release_are_logged_and_sweeping_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(sessions, "SWEEP_EVERY", 0)
    failures = [RuntimeError("clock failed")]
    released = asyncio.Event()

    async def refuse(_: str) -> None:
        released.set()
        raise RuntimeError("not released")

    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        ours = on.bridge.sessions
        ours.on_left = refuse

        def fails_once() -> float:
            if failures:
                raise failures.pop()
            return on.clock.now

        ours._clock = fails_once
        on.clock.now += 1000
        async with asyncio.timeout(10):
            await released.wait()
            await ours.sweep()
        assert session not in ours._hosts
    assert "clock failed" in caplog.text
    assert f"session {session} was not released" in caplog.text


async def test_deleting_in_a_turn_ends_the_process_and_removes_everything(tmp_path: Path):
    script = """
        prompt()
        say(assistant("thinking"))
        answer(requested("interrupt"))
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            await viewer.until(lambda: viewer.frames("assistant"))
            host = await on.host(session)
            pid = host.session.pid
            both = [on.do("delete", session=session) for _ in range(2)]
            results = await asyncio.gather(*both, return_exceptions=True)
            assert sorted(map(str, results)) == sorted(["{'transcript': 'none'}", f"session {session} not found"])
            assert not is_alive(pid)
            assert await on.bridge.sessions.index.get(session) is None
            assert await on.bridge.sessions.events.read(session, 0) == []
            assert await on.bridge.sessions.events.search("thinking") == []
            assert await on.bridge.sessions.ownership.owner(session) == ""


async def test_commands_during_deletion_start_nothing(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        deleting = asyncio.create_task(on.do("delete", session=session))
        for _ in range(2):
            others = [
                on.do("send", session=session, text="x"),
                on.do("resume", session=session),
                on.do("rename", session=session, title="y"),
            ]
            await asyncio.gather(*others, return_exceptions=True)
            await deleting
        assert on.bridge.sessions.running == []
        assert await on.bridge.sessions.index.list() == []


async def test_shutdown_ends_every_process_even_a_starting_one(tmp_path: Path):
    pids = tmp_path / "pids"
    script = f'open("{pids}", "a").write(f"{{os.getpid()}} ")\nwhile True:\n    say(result(prompt()))'
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        sessions = [await on.start() for _ in range(3)]
        for session in sessions:
            await on.do("stop", session=session)
        sending = [asyncio.create_task(on.do("send", session=session, text="x")) for session in sessions]
        await asyncio.wait(sending)
        bridge = on.bridge
    assert bridge.sessions.running == []
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())
    with pytest.raises(CommandRefused, match="shutting down"):
        await bridge.sessions.get(sessions[0])


async def test_duplicate_or_unknown_id_is_refused(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        with pytest.raises(CommandRefused, match="already"):
            await on.bridge.sessions.add(SessionRecord(id=session, cwd="/", created=0, changed=0))
        with pytest.raises(Refused) as refused:
            await on.do("stop", session="00000000-0000-4000-8000-00000000000f")
        assert refused.value.code == "not_found"


async def test_archived_session_has_no_process_and_can_be_restored(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("archive", session=session)
        assert not (await on.host(session)).running
        assert (await on.host(session)).record.archived
        await on.do("archive", session=session, archived=False)
        assert not (await on.host(session)).record.archived
        data = await on.copy_store()
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS), data=data) as on:
        assert [record.id for record in await on.bridge.sessions.index.list(archived=False)] == [session]
