"""Commands: each is done once, by whoever may, and a bad one never leaves a client waiting."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.commands.table import SCOPES, TABLE
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli

ANSWERS = """
    while True:
        say(result(prompt()))
"""
ISSUE = (
    "start resume continue fork send cancel_queued interrupt answer set_model set_permission_mode set_thinking"
    " mcp_reconnect mcp_toggle mcp_set stop_task rewind context_usage rename archive delete stop accept_trust"
).split()


def test_every_command_is_in_the_table():
    assert set(ISSUE) <= set(TABLE)
    assert all(row.scope in SCOPES for row in TABLE.values())


async def test_a_command_needs_its_scope_and_refuses_what_it_does_not_know(tmp_path: Path):
    bad: list[dict[str, Any]] = [{"__proto__": {}}, {"session": "x; id"}, {"session": "../../x"}, {"session": 7}]
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for name, row in TABLE.items():
            with pytest.raises(Refused, match="which this device has not") as refused:
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


async def test_a_start_that_was_cut_off_after_the_session_was_made_makes_no_second_one(tmp_path: Path):
    cli = write_cli(tmp_path, ANSWERS)
    async with stage(tmp_path, cli) as on:
        session = await on.start(id="c1")
        await on.bridge.database.execute("DELETE FROM receipt")
        data = await on.copy_store()
    async with stage(tmp_path, cli, data=data) as on:
        assert await on.start(id="c1") == session
        assert len(await on.bridge.sessions.index.list()) == 1


async def test_a_command_that_breaks_is_told_and_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:

        def broken(folder: str) -> str:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(on.bridge, "checked_folder", broken)
        with pytest.raises(Refused, match="the server's log says why") as refused:
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
        for name in ("interrupt", "set_thinking", "context_usage"):
            with pytest.raises(Refused) as refused:
                await on.do(name, session=session)
            assert refused.value.code == "not_running"
