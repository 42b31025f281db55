"""Conversations that outlive their process: resumed, continued, forked, refused."""

from __future__ import annotations

from uuid import uuid4

import pytest

from handrail import AssistantMessage, StartFailed
from handrail.testing import Lab, When, reply, text
from handrail.transcripts import list_sessions, read_session
from tests.contract.conftest import Talk
from tests.interop.scenario import of

I_WILL = text("I will.")
KNOWS = reply(text("42"), when=When(said="I will."))
"""What a model says that sees the earlier answer."""


async def earlier(talk: Talk) -> str:
    """A conversation that has ended. Returns its id."""
    async with talk(I_WILL) as session:
        await session.ask("remember 42")
        return session.id


async def test_a_resumed_session_remembers(talk: Talk):
    old = await earlier(talk)
    async with talk(KNOWS, text("forgot"), resume=old) as session:
        result = await session.ask("what was it?")
        assert (session.id, result.text) == (old, "42")
    assert float(result.message.total_cost_usd) == pytest.approx(2 * result.cost_usd)


async def test_the_latest_session_of_a_folder_is_continued(talk: Talk):
    old = await earlier(talk)
    async with talk(KNOWS, text("forgot"), continue_conversation=True) as session:
        assert (await session.ask("what was it?")).text == "42"
        assert session.id == old


async def test_a_fork_has_the_history_and_an_id_of_its_own(talk: Talk, lab: Lab):
    old = await earlier(talk)
    async with talk(KNOWS, text("forgot"), resume=old, fork_session=True) as session:
        assert (await session.ask("what was it?")).text == "42"
        forked = session.id
    assert {one.id for one in list_sessions(lab.project, config_home=lab.home / ".claude")} == {old, forked}


async def test_a_session_resumed_at_an_answer_forgets_what_came_later(talk: Talk):
    async with talk(I_WILL, text("two")) as session:
        first = [message async for message in await session.send("keep this")]
        await session.ask("drop this")
    at = of(AssistantMessage, first)[0].uuid
    options = {"resume": session.id, "resume_session_at": at, "fork_session": True}
    async with talk(KNOWS, text("saw more"), **options) as again:
        assert (await again.ask("go on")).text == "42"


async def test_session_has_its_given_id_and_a_second_one_is_refused(talk: Talk, lab: Lab):
    chosen = str(uuid4())
    async with talk(text("hi"), session_id=chosen) as session:
        assert (await session.ask("hello")).session_id == chosen
    with pytest.raises(StartFailed):
        async with talk(text("hi"), session_id=chosen):
            pass
    assert [one.id for one in list_sessions(lab.project, config_home=lab.home / ".claude")] == [chosen]


async def test_a_session_that_does_not_exist_cannot_be_resumed(talk: Talk):
    missing = str(uuid4())
    with pytest.raises(StartFailed, match=f"No conversation found with session ID: {missing}"):
        async with talk(resume=missing):
            pass


async def test_a_session_that_is_not_kept_leaves_nothing(talk: Talk, lab: Lab):
    async with talk(text("hi"), persist_session=False) as session:
        assert (await session.ask("hello")).text == "hi"
    assert list_sessions(lab.project, config_home=lab.home / ".claude") == []


async def test_conversation_is_read_from_the_transcript(talk: Talk, lab: Lab):
    old = await earlier(talk)
    said = read_session(old, config_home=lab.home / ".claude")
    assert "remember 42" in str(said)
    assert "I will." in str(said)
