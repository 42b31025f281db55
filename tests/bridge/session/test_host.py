"""One session: its states, its messages, and the view of several clients."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from handrail.bridge.session.delivery import Prompt
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli

ANSWERS = """
    while True:
        text = prompt()
        say(assistant(f"You said {text}"), result(text))
"""


async def test_all_clients_see_the_same_turn(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as one, on.viewer(session) as other:
            await on.do("send", session=session, text="hello")
            await one.until_result()
            await one.until_state("idle")
            await other.until_state("idle")
            assert one.kept == other.kept
            assert [event["seq"] for event in one.kept] == list(range(1, len(one.kept) + 1))
            assert one.states == ["starting", "idle", "running", "idle"]
            assert one.of("said")[0]["content"] == "hello"
            host = await on.host(session)
            assert host.record.title == "hello"
            assert host.record.conversation


async def test_question_and_compaction_are_states(tmp_path: Path):
    script = """
        prompt()
        ask("can_use_tool", **permission(command="ls"))
        say({"type": "system", "subtype": "status", "status": "compacting", "session_id": SESSION})
        uuids.append(hear()["uuid"])
        say({"type": "system", "subtype": "status", "status": None, "session_id": SESSION}, assistant("compacted"))
        answer(requested("interrupt"))
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="hello")
            await on.answer(session, await viewer.until_kind("asked"))
            await viewer.until_state("compacting")
            on.clock.now += 1_000_000
            await on.bridge.sessions.sweep()
            await on.do("send", session=session, text="go on")
            await viewer.until(lambda: viewer.frames("assistant"))
            await viewer.until_state("running")
            await on.do("interrupt", session=session)
            await viewer.until_state("idle")
            states = [state for state in viewer.states if state != "starting"]
            assert states == ["idle", "running", "waiting_approval", "running", "compacting", "running", "idle"]


async def test_messages_are_delivered_in_order_while_the_process_starts(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        async with on.viewer(session) as viewer:
            texts = [f"message {n}" for n in range(8)]
            for text in texts:
                await on.do("send", session=session, text=text)
            await viewer.until_result(8)
            assert [line["result"] for line in viewer.frames("result")] == texts
            assert len(viewer.of("started")) == 2


async def test_message_cancelled_during_the_start_is_not_delivered(tmp_path: Path):
    script = f"""
        import time
        while not os.path.exists("{tmp_path}/go"):
            time.sleep(0.01)
        while True:
            say(result(prompt()))
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        uuid = str(uuid4())
        session = await on.start(prompt="first")
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="never", uuid=uuid)
            assert (await on.do("cancel_queued", session=session, uuid=uuid)) == {"cancelled": True}
            (tmp_path / "go").touch()
            await on.do("send", session=session, text="last")
            await viewer.until_result(2)
            assert [line["result"] for line in viewer.frames("result")] == ["first", "last"]
            assert [line["uuid"] for line in viewer.of("withdrawn")] == [uuid]


async def test_duplicate_uuid_is_withdrawn(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session, uuid = await on.start(), str(uuid4())
        async with on.viewer(session) as viewer:
            for text in ("once", "twice", "other"):
                await on.do("send", session=session, text=text, **({} if text == "other" else {"uuid": uuid}))
            await viewer.until_result(2)
            await viewer.until_state("idle")
            assert [line["result"] for line in viewer.frames("result")] == ["once", "other"]
            assert "was used" in (await viewer.until_kind("withdrawn"))["why"]


async def test_message_queued_in_a_crashed_cli_is_doubted(tmp_path: Path):
    script = """
        prompt()
        second = hear()
        say({"type": "command_lifecycle", "command_uuid": second["uuid"], "state": "queued", "session_id": SESSION})
        os._exit(7)
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session, uuid = await on.start(), str(uuid4())
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="first")
            await viewer.until(lambda: viewer.frames("system"))
            await on.do("send", session=session, text="second", uuid=uuid)
            assert (await viewer.until_kind("doubted"))["uuid"] == uuid
            await viewer.until_state("hibernated")
            assert viewer.of("crashed")[0]["code"] == 7


async def test_queued_message_keeps_the_session_running(tmp_path: Path):
    script = """
        prompt()
        second = hear()
        say({"type": "command_lifecycle", "command_uuid": second["uuid"], "state": "queued", "session_id": SESSION})
        say(result("first"))
        hear()
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="first")
            await viewer.until(lambda: viewer.frames("system"))
            await on.do("send", session=session, text="second")
            await viewer.until_result()
            host = await on.host(session)
            on.clock.now += 10_000
            assert host.state() == "running"
            assert not host.may_hibernate(60)


async def test_stopping_in_a_turn_persists_all_output_before_the_end(tmp_path: Path):
    script = """
        prompt()
        say(assistant("first"))
        request = requested("interrupt")
        say(assistant("last words"), failure("error_during_execution", "interrupted"))
        answer(request)
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until(lambda: viewer.frames("assistant"))
            await on.do("stop", session=session)
            await viewer.until_state("hibernated")
            kinds = [event["kind"] for event in viewer.kept]
            assert kinds.index("ended") > max(n for n, kind in enumerate(kinds) if kind == "frame")
            assert len(viewer.frames("assistant")) == 2
            assert viewer.of("crashed") == []
            assert viewer.of("ended")[0]["why"] == ""


async def test_message_sent_while_stopping_is_delivered_to_the_next_process(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            for n in range(3):
                stopping = asyncio.create_task(on.do("stop", session=session))
                await on.do("send", session=session, text=f"text {n}")
                await stopping
                await viewer.until_result(n + 1)
            assert [line["result"] for line in viewer.frames("result")] == ["text 0", "text 1", "text 2"]
            assert viewer.of("doubted") == []


async def test_closed_session_starts_no_process_and_stores_nothing(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        host = await on.host(session)
        await on.do("delete", session=session)
        with pytest.raises(Exception, match="being closed"):
            await host.start()
        with pytest.raises(Exception, match="has been closed"):
            await host.say(str(uuid4()), Prompt("too late"), "me")
        host.change(title="too late")
        await asyncio.sleep(0)
        assert await on.bridge.sessions.index.get(session) is None
        assert (await on.bridge.sessions.events.bounds(session)).first > host.seq
        with pytest.raises(Refused) as refused:
            await on.do("send", session=session, text="x")
        assert refused.value.code == "not_found"


async def test_failed_start_is_reported_with_stderr(tmp_path: Path):
    async with stage(
        tmp_path, write_cli(tmp_path, "print('no licence', file=sys.stderr, flush=True); os._exit(3)")
    ) as on:
        with pytest.raises(Refused, match="no licence") as refused:
            await on.start()
        assert refused.value.code == "not_started"
        [host] = on.bridge.sessions._hosts.values()
        assert (host.record.state, "no licence" in host.record.error) == ("failed", True)


async def test_unused_session_is_started_instead_of_resumed(tmp_path: Path):
    """The CLI has stored no conversation that it could resume."""
    async with stage(tmp_path) as on:
        session = await on.start()
        await on.do("stop", session=session)
        async with on.viewer(session) as viewer:
            await on.do("resume", session=session)
            await on.do("send", session=session, text="hello")
            await viewer.until_result()
            await on.do("stop", session=session)
            await on.do("send", session=session, text="again")
            await viewer.until_result(2)
            assert [started["resumed"] for started in viewer.of("started")] == [False, False, True]
