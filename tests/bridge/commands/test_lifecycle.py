"""Deleting a session, with and without its transcript."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.commands.transcripts import TranscriptFiles
from handrail.bridge.session.launch import Cli
from handrail.bridge.store.base import SessionRecord
from handrail.transcripts import SessionNotFound, locate
from tests.bridge.stage import Stage, stage
from tests.transcripts.conversation import Conversation

ID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return tmp_path / "home"


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


def record(id: str = ID, conversation: str = ID) -> SessionRecord:
    return SessionRecord(id=id, cwd="/w", created=1, changed=1, conversation=conversation)


def written(home: Path, id: str = ID) -> Path:
    talk = Conversation(home, session_id=id)
    talk.user("hello")
    talk.assistant("hi")
    return talk.path


async def test_a_transcript_of_the_real_cli_is_deleted_only_when_asked(home: Path):
    path = written(home / ".claude")
    files = TranscriptFiles(lambda: [None, home / ".handrail"], Cli("claude", "claude"))
    assert await files.delete(record(), asked=False) == "kept"
    assert path.exists()
    assert await files.delete(record(), asked=True) == "deleted"
    assert not path.exists()
    assert await files.delete(record(), asked=True) == "none"
    with pytest.raises(SessionNotFound):
        locate(ID)


async def test_a_transcript_under_the_conversation_id_is_deleted_too(home: Path):
    other = "22222222-2222-4222-8222-222222222222"
    path = written(home / ".handrail", other)
    files = TranscriptFiles(lambda: [None, home / ".handrail"], Cli("agent", "agent"))
    assert await files.delete(record(conversation=other), asked=False) == "deleted"
    assert not path.exists()
