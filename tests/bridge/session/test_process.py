"""How a process ends: crashes, hibernation, a store that cannot be written, a killed server."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from handrail.bridge.session import recorder
from handrail.bridge.session.delivery import Prompt
from handrail.bridge.session.host import SessionHost
from tests.bridge.stage import Refused, Stage, Viewer, stage
from tests.client.scripted_cli import write_cli

ANSWERS = """
    while True:
        text = prompt()
        say(result(text))
"""
HANGS = """
    prompt()
    say(assistant("thinking"))
    answer(requested("interrupt"))
"""


def pid_of(host: SessionHost) -> int:
    assert host.session.pid is not None
    return host.session.pid


async def kill(on: Stage, session: str, viewer: Viewer) -> None:
    ends = len(viewer.of("ended"))
    os.kill(pid_of(await on.host(session)), signal.SIGKILL)
    await viewer.until_kind("ended", ends + 1)


async def test_killed_process_is_reported_once_and_resumed_by_the_next_message(tmp_path: Path):
    script = """
        print("out of luck", file=sys.stderr, flush=True)
        if any(word.startswith("--resume") for word in sys.argv):
            prompt()
            say(result("back"))
        prompt()
        say(assistant("thinking"))
        hear()
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until(lambda: viewer.frames("assistant"))
            await kill(on, session, viewer)
            [crashed] = viewer.of("crashed")
            assert (crashed["type"], crashed["is_error"]) == ("result", True)
            assert (crashed["code"], crashed["signal"]) == (None, "SIGKILL")
            assert "out of luck" in crashed["stderr"]
            await viewer.until_state("hibernated")
            await on.do("send", session=session, text="again")
            assert (await viewer.until_result())["result"] == "back"
            assert len(viewer.of("crashed")) == 1


async def test_idle_process_that_dies_leaves_no_result(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await kill(on, session, viewer)
            assert viewer.of("crashed") == []
            assert viewer.of("ended")[0]["signal"] == "SIGKILL"


async def test_three_crashes_in_a_minute_end_the_restarts(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, "prompt()\nos._exit(9)")) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            for n in range(3):
                await on.do("send", session=session, text=f"try {n}")
                await viewer.until_kind("crashed", n + 1)
            await on.do("send", session=session, text="once more")
            await viewer.until_state("failed")
            record = (await on.host(session)).record
            assert "crashed 3 times within 60 s" in record.error
            assert len(viewer.of("started")) == 3
            with pytest.raises(Refused) as refused:
                await on.do("resume", session=session)
            assert refused.value.code == "crashing"
            on.clock.now += 61
            await on.do("resume", session=session)
            await viewer.until_kind("crashed", 4)
            assert len(viewer.of("handed")) == 4, "the queued message was delivered to the new process"


async def test_unresponsive_start_is_aborted_by_stop(tmp_path: Path):
    script = """
        open(sys.argv[1] + ".up", "w").write("I am here")
        sys.stdin.buffer.readline()
        sys.stdin.buffer.read()
    """
    cli = write_cli(tmp_path, script)
    os.mkfifo(f"{cli}.script.up")
    async with stage(tmp_path, cli) as on:
        starting = asyncio.create_task(on.start())
        assert await asyncio.to_thread(Path(f"{cli}.script.up").read_text) == "I am here"
        [session] = on.bridge.sessions._hosts
        await on.do("stop", session=session)
        with pytest.raises(Refused) as refused:
            await starting
        assert refused.value.code == "stopped"
        assert (await on.host(session)).state() == "hibernated"


# Hibernation


async def test_idle_process_hibernates_and_is_resumed_by_the_next_message(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="one")
            await viewer.until_state("idle")
            await viewer.until_result()
            on.clock.now += 59
            await on.bridge.sessions.sweep()
            assert (await on.host(session)).running
            on.clock.now += 2
            await on.bridge.sessions.sweep()
            assert viewer.states[-1] == "hibernated" or (await on.host(session)).state() == "hibernated"
            await on.do("send", session=session, text="two")
            assert (await viewer.until_result(2))["result"] == "two"
            assert [started["resumed"] for started in viewer.of("started")] == [False, True]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(HANGS, id="a turn"),
        pytest.param('prompt()\nask("can_use_tool", **permission(command="ls"))', id="a question"),
        pytest.param(
            "prompt()\n"
            'task = {"task_id": "b1", "task_type": "local_bash", "description": "sleep"}\n'
            'say({"type": "system", "subtype": "background_tasks_changed", "tasks": [task], "session_id": SESSION})\n'
            "say(result())",
            id="a background task",
        ),
    ],
)
async def test_busy_process_never_hibernates(tmp_path: Path, script: str):
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until(lambda: viewer.frames("assistant") or viewer.of("asked") or viewer.frames("result"))
            on.clock.now += 1_000_000
            await on.bridge.sessions.sweep()
            assert (await on.host(session)).running


async def test_resumed_session_does_not_hibernate_at_once(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        on.clock.now += 1_000_000
        await on.do("resume", session=session)
        await on.bridge.sessions.sweep()
        assert (await on.host(session)).running


# A store that cannot be written


def refuse_writing(on: Stage, *, free_pages: int = 0) -> None:
    """Behave like a full disk: stored data can be read, and no more than `free_pages` pages can be added."""
    connection: sqlite3.Connection = on.bridge.database._writing
    pages = connection.execute("PRAGMA page_count").fetchone()[0] + free_pages
    connection.execute(f"PRAGMA max_page_count={pages}")


def let_write(on: Stage) -> None:
    on.bridge.database._writing.execute("PRAGMA max_page_count=1000000")


async def test_session_fails_on_a_full_disk_and_can_continue_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "RETRY_FOR", 0)
    script = """
        while True:
            text = prompt()
            if text == "much":
                say(assistant("x" * 400000))
            say(result(text))
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer, on.viewer() as watcher:
            watcher.say("watch")
            watcher.say("ping")
            await watcher.line("heartbeat")
            await on.do("send", session=session, text="little")
            await viewer.until_state("idle")
            refuse_writing(on)
            host = await on.host(session)
            host._delivery.put(str(uuid4()), Prompt("much"))  # as accepted before the disk was full
            resync = await viewer.line("resync", session=session)
            assert "full" in resync["reason"]
            assert host.state() == "failed"
            assert "full" in host.record.error
            with pytest.raises(Refused, match="full") as refused:
                await on.do("send", session=session, text="y" * 100_000)
            assert refused.value.code == "storage_full"
            let_write(on)
            viewer.wire.heard.clear()
            viewer.say("subscribe", session=session, after=0)
            await on.do("send", session=session, text="recovered")
            await viewer.until(lambda: any(line["result"] == "recovered" for line in viewer.frames("result")))
            seqs = [event["seq"] for event in viewer.kept]
            assert seqs == list(range(1, len(seqs) + 1))


async def test_question_stays_open_if_its_answer_cannot_be_stored(tmp_path: Path):
    script = """
        prompt()
        ask("can_use_tool", **permission(command="ls"))
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            asked = await viewer.until_kind("asked")
            await viewer.until_state("waiting_approval")
            refuse_writing(on)
            with pytest.raises(Refused, match="full"):
                await on.answer(session, asked, "deny", reason="z" * 200_000)
            let_write(on)
            assert (await on.host(session)).state() == "waiting_approval"
            await on.answer(session, asked, "deny")
            await viewer.until_result()


async def test_stored_answer_reaches_the_cli_even_if_the_queue_cannot_be_held(tmp_path: Path):
    script = """
        prompt()
        waiting = hear()
        request = {"subtype": "can_use_tool", **permission(command="ls")}
        say({"type": "control_request", "request_id": "r1", "request": request})
        cancel = requested("cancel_async_message")
        lifecycle = {"type": "command_lifecycle", "command_uuid": waiting["uuid"], "state": "cancelled"}
        say({**lifecycle, "session_id": SESSION})
        answer(cancel, {"cancelled": True})
        say(result(hear()["response"]["response"]["behavior"]))
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="long " * 100_000)
            asked = await viewer.until_kind("asked")
            await viewer.until_state("waiting_approval")
            refuse_writing(on, free_pages=16)  # enough for the answer, not for the held message
            await on.answer(session, asked, "deny", interrupt=True)
            let_write(on)
            assert (await viewer.until_result())["result"] == "deny"
            assert len(viewer.of("answered")) == 1


# A server that was killed


async def prevent_start(on: Stage, session: str) -> None:
    """Keep the host from starting a process, so that an accepted message stays queued."""
    (await on.host(session))._process.closed = True


async def test_accepted_message_is_delivered_after_a_restart(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.do("stop", session=session)
        await prevent_start(on, session)
        await on.do("send", session=session, text="first", id="c-first")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        assert (await on.host(session)).waiting != []
        await on.do("send", session=session, text="first", id="c-first")
        await on.do("send", session=session, text="next")
        await viewer.until_result(2)
        assert [line["result"] for line in viewer.frames("result")] == ["first", "next"]
        assert len(viewer.of("said")) == 2, "the retried command ran once"


async def test_accepted_message_is_delivered_by_resume_after_a_restart(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.do("stop", session=session)
        await prevent_start(on, session)
        await on.do("send", session=session, text="queued")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        await on.do("resume", session=session)
        assert (await viewer.until_result())["result"] == "queued"


async def test_restart_interrupts_the_turn_and_closes_its_question(tmp_path: Path):
    script = """
        prompt()
        ask("can_use_tool", **permission(command="ls"))
        say(result())
    """
    cli = write_cli(tmp_path, script)
    async with stage(tmp_path, cli) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            asked = await viewer.until_kind("asked")
            await viewer.until_state("waiting_approval")
            data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        await viewer.until_state("hibernated")
        assert [(closed["question"], closed["why"]) for closed in viewer.of("closed")] == [
            (asked["question"], "the server was restarted")
        ]
        [crashed] = viewer.of("crashed")
        assert crashed["errors"] == ["the server was restarted during the turn"]
        with pytest.raises(Refused) as refused:
            await on.answer(session, asked)
        assert refused.value.code == "not_pending"
        again = await on.copy_store()
    async with stage(tmp_path, cli, data=again) as on, on.viewer(session) as viewer:
        await viewer.until_state("hibernated")
        assert len(viewer.of("crashed")) == 1, "it is reported once, even after a second kill"


async def test_message_in_delivery_is_doubted_after_a_restart(tmp_path: Path):
    cli = write_cli(tmp_path, "hear()\nhear()")
    async with stage(tmp_path, cli) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            handed = await viewer.until_kind("handed")
            data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        assert (await viewer.until_kind("doubted"))["uuid"] == handed["uuid"]
        assert (await on.host(session)).waiting == []


async def test_state_is_correct_after_a_restart_with_an_older_record(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.do("stop", session=session)
        older = msgspec.json.encode(await on.bridge.sessions.index.get(session))
        async with on.viewer(session) as viewer:
            await on.do("resume", session=session)
            await viewer.until(lambda: viewer.states[-2:] == ["starting", "idle"])
            data = await on.copy_store()
    with sqlite3.connect(data / "handrail.db") as db:
        db.execute("UPDATE session SET record = ?", (older,))
    db.close()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        await viewer.until_state("hibernated")


async def test_session_abandoned_in_a_turn_is_recovered_as_interrupted(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HANGS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until(lambda: viewer.frames("assistant"))
        await on.bridge.sessions.abandon(session, "another machine owns it")
        async with on.viewer(session) as viewer:
            await viewer.until_kind("crashed")
            assert len(viewer.of("crashed")) == 1
