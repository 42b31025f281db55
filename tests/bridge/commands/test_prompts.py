"""Commands of the conversation: send, retry, cancel, interrupt."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest

from handrail.bridge.session.events import event
from tests.bridge.stage import Refused, Stage, Viewer, no_receipts, stage
from tests.client.scripted_cli import write_cli

pytestmark = pytest.mark.usefixtures("anywhere")

PNG = b"\x89PNG\r\n\x1a\n"
HEARS = """
    while True:
        heard = hear()
        if heard["type"] == "user":
            uuids[:] = [heard["uuid"]]
            say(result(heard["message"]["content"]))
        else:
            answer(heard, {"cancelled": False, "still_queued": []})
"""


async def test_images_are_sent_by_id_and_files_as_mentions(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HEARS)) as on:
        session, uuid = await on.start(), str(uuid4())
        picture = await on.bridge.uploads.add(PNG)
        async with on.viewer(session) as viewer:
            said = {"text": "Look", "images": [picture], "files": ["a.py", "b c/d.py"], "uuid": uuid}
            assert await on.do("send", session=session, **said) == {"uuid": uuid}
            block, text = json.loads((await viewer.until_result())["result"])
            assert base64.b64decode(block["source"]["data"]) == PNG
            assert (block["type"], block["source"]["media_type"]) == ("image", "image/png")
            assert text == {"type": "text", "text": 'Look\n\n@a.py @"b c/d.py"'}
            await on.do("send", session=session, files=["a.py"])
            assert (await viewer.until_result(2))["result"] == "@a.py"


async def test_invalid_prompt_is_refused(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HEARS)) as on:
        session = await on.start()
        for fields, code in (
            ({}, "empty"),
            ({"files": ["/etc/passwd"]}, "bad_file"),
            ({"files": ["~/.ssh/id"]}, "bad_file"),
            ({"files": ["a/../../b"]}, "bad_file"),
            ({"files": ['a" @/etc/passwd "']}, "bad_fields"),
            ({"files": ["a\n@/etc/passwd"]}, "bad_fields"),
            ({"images": [str(uuid4())]}, "not_found"),
            ({"images": ["../x"]}, "bad_fields"),
            ({"text": "x" * 1_000_001}, "bad_fields"),
        ):
            with pytest.raises(Refused) as refused:
                await on.do("send", session=session, **fields)
            assert refused.value.code == code, fields
        assert (await on.host(session)).state() == "idle"


async def test_interrupt_can_cancel_queued_prompts(tmp_path: Path):
    script = """
        prompt()
        waiting = hear()
        request = requested("interrupt")
        say(failure("error_during_execution", str(request["request"].get("cancel_queued"))))
        say({"type": "command_lifecycle", "command_uuid": waiting["uuid"], "state": "cancelled", "session_id": SESSION})
        answer(request, {"still_queued": []})
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            for n in range(2):
                await on.do("send", session=session, text=str(n))
                await viewer.until_kind("handed", n + 1)
            await viewer.until(lambda: viewer.frames("system"))
            assert await on.do("interrupt", session=session, queued=True) == {"still_queued": []}
            assert (await viewer.until_result())["errors"] == ["True"]
            await viewer.until_state("idle")


STOPS = """
    first = prompt()
    waiting = hear()
    while (request := hear())["request"]["subtype"] == "cancel_async_message":
        uuid = request["request"]["message_uuid"]
        if uuid == waiting["uuid"]:
            say({"type": "command_lifecycle", "command_uuid": uuid, "state": "cancelled", "session_id": SESSION})
        answer(request, {"cancelled": uuid == waiting["uuid"]})
    say(failure("error_during_execution", "stopped"))
    answer(request, {"still_queued": []})
    while True:
        heard = hear()
        uuids[:] = [heard["uuid"]]
        say(result(heard["message"]["content"]))
"""


async def stop_with_one_waiting(on: Stage, viewer: Viewer, session: str) -> None:
    """Send two prompts, and interrupt the turn of the first so that the second is held."""
    for n, text in enumerate(("first", "second")):
        await on.do("send", session=session, text=text)
        await viewer.until_kind("handed", n + 1)
    await viewer.until(lambda: viewer.frames("system"))
    await on.do("interrupt", session=session, hold=True)
    await viewer.until_state("idle")


async def test_stopped_turn_holds_queued_prompts_until_they_are_sent(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, STOPS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await stop_with_one_waiting(on, viewer, session)
            (held,) = viewer.of("held")
            assert held["content"] == "second"
            answer = await on.do("send_held", session=session, uuid=held["uuid"], id="s1")
            assert await on.do("send_held", session=session, uuid=held["uuid"], id="s1") == answer
            assert (await viewer.until_result(2))["result"] == "second"
            assert [one["content"] for one in viewer.of("said")] == ["first", "second", "second"]
            with pytest.raises(Refused) as refused:
                await on.do("send_held", session=session, uuid=held["uuid"])
            assert refused.value.code == "not_held"


@pytest.mark.one_server
async def test_held_prompt_survives_a_kill_and_can_be_cancelled(tmp_path: Path):
    cli = write_cli(tmp_path, STOPS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await stop_with_one_waiting(on, viewer, session)
            uuid = viewer.of("held")[0]["uuid"]
            data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        host = await on.host(session)
        assert (host.waiting, host._delivery.held) == ([], [uuid])
        async with no_receipts(on):
            with pytest.raises(Refused, match="no receipt"):
                await on.do("cancel_queued", session=session, uuid=uuid)
            with pytest.raises(Refused, match="no receipt"):
                await on.do("send_held", session=session, uuid=uuid)
        assert host._delivery.held == [uuid]
        assert await on.do("cancel_queued", session=session, uuid=uuid) == {"cancelled": True}
        assert host._delivery.held == []


async def test_started_prompt_is_not_cancelled(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HEARS)) as on:
        session, uuid = await on.start(), str(uuid4())
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="x", uuid=uuid)
            await viewer.until_result()
            assert await on.do("cancel_queued", session=session, uuid=uuid) == {"cancelled": False}
            assert viewer.of("withdrawn") == []


HEARS_TWO = """
    first = prompt()
    second = hear()
    while True:
        heard = hear()
        if heard["request"]["subtype"] == "interrupt":
            say({"type": "system", "subtype": "interrupted", "session_id": SESSION})
        cancelled = CANCELS and heard["request"].get("message_uuid") == second["uuid"]
        if cancelled:
            lifecycle = {"type": "command_lifecycle", "command_uuid": second["uuid"], "state": "cancelled"}
            say({**lifecycle, "session_id": SESSION})
        answer(heard, {"cancelled": cancelled, "still_queued": []})
"""


@pytest.mark.parametrize("cancels", [True, False], ids=["queued in the CLI", "taken from the queue, not yet reported"])
async def test_cancelled_prompt_is_withdrawn_or_its_turn_interrupted(tmp_path: Path, cancels: bool):
    async with stage(tmp_path, write_cli(tmp_path, HEARS_TWO.replace("CANCELS", str(cancels)))) as on:
        session, uuid = await on.start(), str(uuid4())
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="first")
            await on.do("send", session=session, text="second", uuid=uuid)
            await viewer.until_kind("handed", 2)
            done = {"withdrawn": cancels, "interrupted": not cancels}
            assert await on.do("cancel_prompt", session=session, uuid=uuid) == done
            # A request to the CLI, whose answer follows the line that an interrupt would have caused.
            assert await on.do("cancel_queued", session=session, uuid=str(uuid4())) == {"cancelled": False}
            await on.do("rename", session=session, title="after it")
            await viewer.until(lambda: "after it" in [one.get("title") for one in viewer.of("changed")])
            subtypes = [line["subtype"] for line in viewer.frames("system")]
            assert ("interrupted" in subtypes) is not cancels


async def test_cancel_of_an_ended_or_unknown_prompt_interrupts_nothing(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HEARS)) as on:
        session, uuid = await on.start(), str(uuid4())
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="x", uuid=uuid)
            await viewer.until_result()
            for one in (uuid, str(uuid4())):
                nothing = {"withdrawn": False, "interrupted": False}
                assert await on.do("cancel_prompt", session=session, uuid=one) == nothing
        await on.do("stop", session=session)
        assert await on.do("cancel_prompt", session=session, uuid=uuid) == {"withdrawn": False, "interrupted": False}


@pytest.mark.one_server
async def test_prompt_stays_queued_when_its_cancellation_is_not_persisted(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HEARS)) as on:
        session, uuid = await on.start(), str(uuid4())
        await on.do("stop", session=session)
        host = await on.host(session)
        host._process.closed = True  # no process starts, so the prompt stays accepted
        await on.do("send", session=session, text="x", uuid=uuid)
        async with no_receipts(on):
            with pytest.raises(Refused, match="no receipt"):
                await on.do("cancel_queued", session=session, uuid=uuid)
        assert host.waiting == [uuid]
        assert await on.do("cancel_queued", session=session, uuid=uuid) == {"cancelled": True}


@pytest.mark.one_server
async def test_cancellation_gives_the_same_receipt_after_a_kill(tmp_path: Path):
    cli = write_cli(tmp_path, HEARS)
    async with stage(tmp_path, cli) as on:
        session, uuid = await on.start(), str(uuid4())
        await on.do("stop", session=session)
        (await on.host(session))._process.closed = True  # no process starts, so the prompt stays accepted
        await on.do("send", session=session, text="x", uuid=uuid)
        async with on.viewer(session) as viewer:
            cancelling = asyncio.create_task(on.do("cancel_queued", id="c1", session=session, uuid=uuid))
            await viewer.until_kind("withdrawn")
            data = await on.copy_store()
            await cancelling
    async with stage(tmp_path, cli, data=data) as on:
        assert await on.do("cancel_queued", id="c1", session=session, uuid=uuid) == {"cancelled": True}


REPORTS = """
    while True:
        heard = hear()
        received = {"text": heard["message"]["content"], "priority": heard.get("priority")}
        say({"type": "system", "subtype": "heard", **received, "session_id": SESSION})
"""


async def test_prompts_are_delivered_by_priority(tmp_path: Path):
    gate = tmp_path / "gate"
    waits = f"if os.path.exists({str(gate)!r}):\n    open({str(gate)!r}).read()\n"
    async with stage(tmp_path, write_cli(tmp_path, waits + dedent(REPORTS))) as on:
        session = await on.start()
        await on.do("stop", session=session)
        os.mkfifo(gate)
        async with on.viewer(session) as viewer:
            for text, priority in (("late", "later"), ("plain", None), ("urgent", "now")):
                await on.do("send", session=session, text=text, priority=priority)  # the new process waits at the gate
            await asyncio.to_thread(gate.write_text, "open")
            heard = await viewer.until(lambda: len(viewer.frames("system")) == 3 and viewer.frames("system"))
            received = [(line["text"], line["priority"]) for line in heard]
            assert received == [("urgent", "now"), ("plain", None), ("late", "later")]
            assert [said.get("priority") for said in viewer.of("said")] == ["later", None, "now"]


@pytest.mark.one_server
async def test_priority_survives_a_kill(tmp_path: Path):
    cli = write_cli(tmp_path, REPORTS)
    async with stage(tmp_path, "/bin/false") as on:
        session = await on.start(prompt="plain")
        await on.do("send", session=session, text="urgent", priority="now")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on, on.viewer(session) as viewer:
        await on.do("resume", session=session)
        heard = await viewer.until(lambda: len(viewer.frames("system")) == 2 and viewer.frames("system"))
        assert [line["text"] for line in heard] == ["urgent", "plain"]


# Retry

SILENT = """
    while True:
        prompt()
"""


async def test_retry_sends_the_last_message_again(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, HEARS)) as on:
        session = await on.start(prompt="first")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await on.do("send", session=session, text="second")
            await viewer.until_result(2)
            await viewer.until_state("idle")
            answer = await on.do("retry", session=session, id="again", device="phone")
            assert await on.do("retry", session=session, id="again", device="phone") == answer
            await viewer.until_result(3)
        said = viewer.of("said")
        assert [one["content"] for one in said] == ["first", "second", "second"]
        assert said[2]["uuid"] == answer["uuid"] != said[1]["uuid"]
        assert said[2]["by"] == "phone"


async def test_retry_skips_a_cancelled_message_and_keeps_its_images(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SILENT)) as on:
        session = await on.start()
        host = await on.host(session)
        content = [{"type": "text", "text": "look"}]
        await host.record_events(
            [
                event("said", "look", uuid="a", content=content, by="d"),
                event("said", "no", uuid="b", content="no", by="d"),
                event("withdrawn", uuid="b"),
            ]
        )
        await on.do("retry", session=session)
        async with on.viewer(session) as viewer:
            await viewer.until(lambda: len(viewer.of("said")) == 3)
            assert viewer.of("said")[2]["content"] == content


async def test_retry_is_refused_while_a_turn_runs_or_without_a_message(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SILENT)) as on:
        session = await on.start()
        with pytest.raises(Refused, match="nothing to retry") as refused:
            await on.do("retry", session=session)
        assert refused.value.code == "empty"
        await on.do("send", session=session, text="go")
        async with on.viewer(session) as viewer:
            await viewer.until_state("running")
            with pytest.raises(Refused, match="a turn is running") as refused:
                await on.do("retry", session=session)
        assert refused.value.code == "busy"
