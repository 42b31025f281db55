"""The executor: each command runs once, needs its scope and gets a receipt."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.commands.executor import COMMANDS
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


async def test_missing_scope_and_unknown_fields_are_refused(tmp_path: Path):
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


async def test_concurrent_commands_with_one_id_run_once(tmp_path: Path):
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
async def test_repeated_id_gives_the_same_receipt_after_a_restart(tmp_path: Path):
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


async def test_command_ids_are_scoped_to_a_device(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        one, two = await on.start(id="c", device="a"), await on.start(id="c", device="b")
        assert one != two


@pytest.mark.one_server
async def test_start_repeated_after_a_crash_creates_no_second_session(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start(id="c1")
        await on.bridge.database.execute("DELETE FROM receipt")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on:
        assert await on.start(id="c1") == session
        assert len(await on.bridge.sessions.index.list()) == 1


@pytest.mark.one_server
async def test_start_repeated_after_a_crash_sends_its_prompt_once(tmp_path: Path):
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
async def test_change_and_receipt_are_persisted_atomically(
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
            found = [one for one in viewer.of(kind) if one != {"title": "the end"}]
            assert len(found) == 1


@pytest.mark.one_server
async def test_acknowledged_changes_are_listed_after_a_kill(tmp_path: Path):
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
async def test_refusal_is_repeated_from_its_receipt(tmp_path: Path):
    script = """
        refuse(requested("set_model"), "no such model")
    """
    cli = write_cli(tmp_path, script)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        for _ in range(2):  # the CLI would accept a second request
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


async def test_read_only_command_runs_again_under_the_same_id(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        await on.do("stop", session=session)
        with pytest.raises(Refused, match="is not running"):
            await on.do("context_usage", id="c1", session=session)
        await on.do("resume", session=session)
        assert (await on.do("context_usage", id="c1", session=session))["maxTokens"] > 0


@pytest.mark.one_server
async def test_command_refused_at_shutdown_runs_on_the_next_server(tmp_path: Path):
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
async def test_internal_error_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:

        def broken(folder: str) -> str:
            raise RuntimeError("internal fault")

        monkeypatch.setattr(on.bridge.workspace, "checked_folder", broken)
        with pytest.raises(Refused, match="see the server's log") as refused:
            await on.start()
        assert refused.value.code == "internal"


async def test_refusal_of_the_cli_is_passed_on(tmp_path: Path):
    script = """
        refuse(requested("set_model"), "no such model")
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        with pytest.raises(Refused, match="no such model") as refused:
            await on.do("set_model", session=session, model="missing")
        assert refused.value.code == "cli"
        assert (await on.host(session)).record.model == ""


async def test_command_that_needs_a_process_is_refused_without_one(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        await on.do("stop", session=session)
        for name in ("interrupt", "context_usage"):
            with pytest.raises(Refused) as refused:
                await on.do(name, session=session)
            assert refused.value.code == "not_running"


@pytest.mark.one_server
async def test_refused_command_is_not_executed_later(tmp_path: Path):
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
async def test_forbidden_and_invalid_commands_store_no_receipt(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for name, scopes in (("start", frozenset({"view"})), ("nothing", SCOPES), ("start", SCOPES)):
            with pytest.raises(Refused):
                await on.do(name, scopes=frozenset(scopes), cwd=7)
        kept = await on.bridge.database.look(lambda db: db.execute("SELECT COUNT(*) FROM receipt").fetchone())
        assert kept == (0,)


@pytest.mark.one_server
async def test_temporarily_refused_command_can_be_retried_under_its_id(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        on.bridge.sessions._closed = True
        with pytest.raises(Refused) as refused:
            await on.do("send", id="c1", session=session, text="hi")
        assert refused.value.code == "closing"
        on.bridge.sessions._closed = False
        assert await on.do("send", id="c1", session=session, text="hi")
