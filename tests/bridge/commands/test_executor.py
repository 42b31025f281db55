"""The executor: each command is done once, scopes are checked, and every command gets a receipt."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.commands.catalog import COMMANDS
from handrail.bridge.commands.table import SCOPES
from tests.bridge.stage import Refused, no_receipts, stage
from tests.client.scripted_cli import write_cli

pytestmark = pytest.mark.usefixtures("anywhere")

ANSWERS = """
    while True:
        say(result(prompt()))
"""
ISSUE = (
    "start resume continue fork send cancel_queued interrupt answer set_model set_permission_mode set_thinking"
    " mcp_reconnect mcp_toggle mcp_set stop_task rewind context_usage rename archive delete stop accept_trust"
).split()


def test_every_command_is_in_the_table():
    assert set(ISSUE) <= set(COMMANDS)
    assert all(row.scope in SCOPES for row in COMMANDS.values())


async def test_a_command_needs_its_scope_and_refuses_what_it_does_not_know(tmp_path: Path):
    bad: list[dict[str, Any]] = [{"__proto__": {}}, {"session": "x; id"}, {"session": "../../x"}, {"session": 7}]
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for name, row in COMMANDS.items():
            with pytest.raises(Refused, match="which this device lacks") as refused:
                await on.do(name, scopes=frozenset(SCOPES) - {row.scope})
            assert refused.value.code == "forbidden"
            for fields in bad:
                with pytest.raises(Refused) as refused:
                    await on.do(name, **fields)
                assert refused.value.code == "bad_fields"


async def test_the_same_id_at_the_same_time_is_done_once(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        starts = await asyncio.gather(*(on.start(id="c1") for _ in range(5)))
        assert len(set(starts)) == 1
        session = starts[0]
        results = await asyncio.gather(*(on.do("send", id="c2", session=session, text="hi") for _ in range(10)))
        assert len({result["uuid"] for result in results}) == 1
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await viewer.until_state("idle")
            assert len(viewer.of("said")) == 1
        assert len(await on.bridge.sessions.index.list()) == 1


@pytest.mark.one_server
async def test_the_same_id_later_and_after_a_restart_gives_the_same_receipt(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start(id="c1", prompt="hello")
        first = await on.do("send", id="c2", session=session, text="hi")
        assert await on.do("send", id="c2", session=session, text="hi") == first
        async with on.viewer(session) as viewer:
            await viewer.until_result(2)
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on:
        assert await on.start(id="c1", prompt="hello") == session
        assert await on.do("send", id="c2", session=session, text="hi") == first
        async with on.viewer(session) as viewer:
            await viewer.until_state("hibernated")
            assert len(viewer.of("said")) == 2


async def test_ids_of_one_device_are_nothing_to_another(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        one, two = await on.start(id="c", device="a"), await on.start(id="c", device="b")
        assert one != two


@pytest.mark.one_server
async def test_a_start_that_was_cut_off_after_the_session_was_made_makes_no_second_one(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start(id="c1")
        await on.bridge.database.execute("DELETE FROM receipt")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on:
        assert await on.start(id="c1") == session
        assert len(await on.bridge.sessions.index.list()) == 1


@pytest.mark.one_server
async def test_a_start_with_a_prompt_says_it_once_wherever_it_was_cut_off(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        async with no_receipts(on):
            with pytest.raises(Refused, match="no receipt"):
                await on.start(id="c1", prompt="hello")
        session = await on.start(id="c1", prompt="hello")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await viewer.until_state("idle")
            assert len(viewer.of("said")) == 1


@pytest.mark.parametrize(
    ("name", "fields", "kind"),
    [
        ("send", {"text": "x"}, "said"),
        ("rename", {"title": "x"}, "changed"),
        ("archive", {}, "changed"),
    ],
)
@pytest.mark.one_server
async def test_what_a_command_changes_and_its_receipt_are_on_record_together_or_not_at_all(
    tmp_path: Path, name: str, fields: dict[str, Any], kind: str
):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            async with no_receipts(on):
                with pytest.raises(Refused, match="no receipt"):
                    await on.do(name, id="c1", session=session, **fields)
            await on.do(name, id="c1", session=session, **fields)
            await on.do("rename", session=session, title="the end")
            await viewer.until(lambda: {"title": "the end"} in viewer.of("changed"))
            told = [one for one in viewer.of(kind) if one != {"title": "the end"}]
            assert len(told) == 1


@pytest.mark.one_server
async def test_what_was_acknowledged_is_in_the_list_after_a_kill(tmp_path: Path):
    cli = write_cli(tmp_path, "")
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.do("rename", session=session, title="Kept")
        await on.do("set_permission_mode", session=session, mode="plan")
        await on.do("set_model", session=session, model="opus")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on:
        [record] = await on.bridge.sessions.index.list()
        assert (record.title, record.mode, record.options["model"]) == ("Kept", "plan", "opus")


@pytest.mark.one_server
async def test_what_was_refused_is_refused_again_by_the_same_receipt(tmp_path: Path):
    script = """
        refuse(requested("set_model"), "no such model")
    """
    cli = write_cli(tmp_path, script)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        for _ in range(2):  # the second time the CLI would not refuse it
            with pytest.raises(Refused, match="no such model"):
                await on.do("set_model", id="c1", session=session, model="opus")
        await on.do("stop", session=session)
        with pytest.raises(Refused, match="is not running"):
            await on.do("stop_task", id="c2", session=session, task="b1")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on:
        await on.do("resume", session=session)
        with pytest.raises(Refused, match="is not running"):
            await on.do("stop_task", id="c2", session=session, task="b1")


async def test_what_only_reads_is_asked_anew_under_the_same_id(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        await on.do("stop", session=session)
        with pytest.raises(Refused, match="is not running"):
            await on.do("context_usage", id="c1", session=session)
        await on.do("resume", session=session)
        assert (await on.do("context_usage", id="c1", session=session))["maxTokens"] > 0


@pytest.mark.one_server
async def test_what_a_server_refuses_because_it_ends_is_done_by_the_next(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        await on.bridge.sessions.close()
        with pytest.raises(Refused) as refused:
            await on.do("rename", id="c1", session=session, title="x")
        assert refused.value.code == "closing"
    async with stage(tmp_path, cli) as on:
        await on.do("rename", id="c1", session=session, title="x")


@pytest.mark.one_server
async def test_a_command_that_breaks_is_told_and_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:

        def broken(folder: str) -> str:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(on.bridge.workspace, "checked_folder", broken)
        with pytest.raises(Refused, match="see the server's log") as refused:
            await on.start()
        assert refused.value.code == "internal"


async def test_what_the_cli_refuses_is_told_in_its_words(tmp_path: Path):
    script = """
        refuse(requested("set_model"), "no such model")
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        with pytest.raises(Refused, match="no such model") as refused:
            await on.do("set_model", session=session, model="nobody")
        assert refused.value.code == "cli"
        assert (await on.host(session)).record.model == ""


async def test_what_needs_a_process_says_so(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        for name in ("interrupt", "context_usage"):
            with pytest.raises(Refused) as refused:
                await on.do(name, session=session)
            assert refused.value.code == "not_running"


@pytest.mark.one_server
async def test_a_refusal_is_a_receipt_too_and_what_was_refused_is_not_done_later(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        with pytest.raises(Refused, match="not a folder") as first:
            await on.do("start", id="c1", cwd=str(tmp_path / "later"))
        (tmp_path / "later").mkdir()
        with pytest.raises(Refused) as again:
            await on.do("start", id="c1", cwd=str(tmp_path / "later"))
        assert str(again.value) == str(first.value)
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on:
        with pytest.raises(Refused) as later:
            await on.do("start", id="c1", cwd=str(tmp_path / "later"))
        assert str(later.value) == str(first.value)
        assert await on.do("start", id="c2", cwd=str(tmp_path / "later"))
        assert len(await on.bridge.sessions.index.list()) == 1


@pytest.mark.one_server
async def test_what_a_device_may_not_do_or_say_leaves_nothing_on_disk(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for name, scopes in (("start", frozenset({"view"})), ("nothing", SCOPES), ("start", SCOPES)):
            with pytest.raises(Refused):
                await on.do(name, scopes=frozenset(scopes), cwd=7)
        kept = await on.bridge.database.look(lambda db: db.execute("SELECT COUNT(*) FROM receipt").fetchone())
        assert kept == (0,)


@pytest.mark.one_server
async def test_what_could_not_be_taken_just_now_may_come_again_under_its_id(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        on.bridge.sessions._closed = True
        with pytest.raises(Refused) as refused:
            await on.do("send", id="c1", session=session, text="hi")
        assert refused.value.code == "closing"
        on.bridge.sessions._closed = False
        assert await on.do("send", id="c1", session=session, text="hi")
