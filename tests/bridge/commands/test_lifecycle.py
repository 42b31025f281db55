"""Deleting a session with its transcript."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.stage import Stage, stage


async def said(on: Stage, **fields: str) -> str:
    session = await on.start(prompt="remember the lighthouse", **fields)
    async with on.viewer(session) as viewer:
        await viewer.until_result()
        await viewer.until_state("idle")
    return session


@pytest.mark.usefixtures("anywhere")
async def test_deleted_agent_session_is_not_listed_as_a_terminal_session(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await said(on)
        fork = (await on.do("fork", session=session, prompt="and the sea"))["session"]["id"]
        async with on.viewer(fork) as viewer:
            await viewer.until_result()
            await viewer.until_state("idle")
        listed = {row["id"] for row in await on.bridge.router.terminal_sessions(50)}
        assert {session, fork} <= listed
        assert await on.do("delete", session=fork) == {"transcript": "deleted"}
        assert {row["id"] for row in await on.bridge.router.terminal_sessions(50)} == listed - {fork}
        assert await on.do("delete", session=session) == {"transcript": "deleted"}
        assert await on.bridge.router.terminal_sessions(50) == []


async def test_repeated_delete_gives_the_same_receipt(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await said(on)
        assert await on.do("delete", id="once", session=session) == await on.do("delete", id="once", session=session)


async def test_session_without_a_transcript_can_be_deleted(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        assert (await on.do("delete", session=session))["transcript"] in ("none", "deleted")
