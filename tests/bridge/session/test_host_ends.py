"""How a process ends: crashes, sleep, a store that cannot be written, a server that was killed."""

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


async def test_a_killed_process_gives_one_result_with_signal_and_stderr_and_resumes_at_the_next_input(tmp_path: Path):
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


async def test_a_process_that_dies_while_nothing_is_under_way_is_told_without_a_result(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await kill(on, session, viewer)
            assert viewer.of("crashed") == []
            assert viewer.of("ended")[0]["signal"] == "SIGKILL"


async def test_three_crashes_in_a_minute_stop_the_trying_and_say_so(tmp_path: Path):
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
            assert len(viewer.of("handed")) == 4, "the message that waited was given to the new process"


async def test_a_cli_that_never_answers_is_given_up_when_the_session_is_stopped(tmp_path: Path):
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


async def test_an_idle_process_is_ended_after_a_while_and_resumed_at_the_next_input(tmp_path: Path):
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
            assert [one["resumed"] for one in viewer.of("started")] == [False, True]


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
async def test_a_process_with_something_under_way_is_never_ended(tmp_path: Path, script: str):
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until(lambda: viewer.frames("assistant") or viewer.of("asked") or viewer.frames("result"))
            on.clock.now += 1_000_000
            await on.bridge.sessions.sweep()
            assert (await on.host(session)).running


async def test_a_session_that_was_just_resumed_is_not_sent_to_sleep_at_once(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        on.clock.now += 1_000_000
        await on.do("resume", session=session)
        await on.bridge.sessions.sweep()
        assert (await on.host(session)).running


# A store that cannot be written


def refuse_writing(on: Stage) -> None:
    """As a full disk does: what was written can be read, and nothing can be added."""
    connection: sqlite3.Connection = on.bridge.database._writing
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")


def let_write(on: Stage) -> None:
    on.bridge.database._writing.execute("PRAGMA max_page_count=1000000")


async def test_a_session_whose_lines_cannot_be_kept_fails_visibly_and_can_go_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
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
            await on.do("send", session=session, text="well again")
            await viewer.until(lambda: any(line["result"] == "well again" for line in viewer.frames("result")))
            seqs = [event["seq"] for event in viewer.kept]
            assert seqs == list(range(1, len(seqs) + 1))


async def test_an_answer_that_cannot_be_kept_leaves_the_question_open(tmp_path: Path):
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


# A server that was killed


async def test_after_a_restart_an_accepted_message_waits_and_is_given_when_the_session_goes_on(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.do("stop", session=session)
        host = await on.host(session)
        host._leaving = True  # no process: it stays accepted
        await on.do("send", session=session, text="kept", id="c-kept")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        assert (await on.host(session)).waiting != []
        await on.do("send", session=session, text="kept", id="c-kept")
        await on.do("send", session=session, text="next")
        await viewer.until_result(2)
        assert [line["result"] for line in viewer.frames("result")] == ["kept", "next"]
        assert len(viewer.of("said")) == 2, "the same command was done once"


async def test_after_a_restart_resuming_gives_what_was_accepted(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.do("stop", session=session)
        (await on.host(session))._leaving = True
        await on.do("send", session=session, text="kept")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        await on.do("resume", session=session)
        assert (await viewer.until_result())["result"] == "kept"


async def test_after_a_restart_a_turn_is_shown_as_interrupted_and_its_question_is_closed(tmp_path: Path):
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
        assert [(one["question"], one["why"]) for one in viewer.of("closed")] == [
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
        assert len(viewer.of("crashed")) == 1, "it is told once, however often the server is killed"


async def test_after_a_restart_a_message_that_was_on_its_way_is_doubted(tmp_path: Path):
    cli = write_cli(tmp_path, "hear()\nhear()")
    async with stage(tmp_path, cli) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            handed = await viewer.until_kind("handed")
            data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        assert (await viewer.until_kind("doubted"))["uuid"] == handed["uuid"]
        assert (await on.host(session)).waiting == []


async def test_after_a_restart_the_last_state_that_is_told_is_true_also_where_the_record_is_older(
    tmp_path: Path,
):
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


async def test_a_session_that_is_abandoned_in_a_turn_is_found_in_it_by_whoever_takes_it_up(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HANGS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until(lambda: viewer.frames("assistant"))
        await on.bridge.sessions.abandon(session, "somebody else has it")
        async with on.viewer(session) as viewer:
            await viewer.until_kind("crashed")
            assert len(viewer.of("crashed")) == 1
