"""Sessions after the end of their process: resumed, continued, forked, named, not persisted."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from handrail import AssistantMessage, StartFailed
from handrail.testing import Lab, text
from handrail.transcripts import list_sessions
from tests.interop.scenario import Model, Talk, of, texts_sent


async def earlier(model: Model, talk: Talk) -> tuple[str, float]:
    """Run a session to its end. Returns its id and its cost."""
    async with talk(model(text("I will.")), max_turns=3) as session:
        result = await session.ask("remember 42")
        return session.id, result.cost_usd


async def test_resumed_session_has_history_and_counts_only_new_cost(model: Model, talk: Talk):
    old, cost = await earlier(model, talk)
    api = model(text("42"))
    async with talk(api, resume=old) as session:
        result = await session.ask("what was it?")
        assert session.id == old
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]
    assert result.cost_usd == pytest.approx(cost)
    assert float(result.message.total_cost_usd) == pytest.approx(2 * cost)


async def test_the_latest_session_of_a_folder_is_continued(model: Model, talk: Talk):
    old, _ = await earlier(model, talk)
    api = model(text("42"))
    async with talk(api, continue_conversation=True) as session:
        await session.ask("what was it?")
        assert session.id == old
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]


async def test_continue_without_a_session_starts_a_new_one(model: Model, talk: Talk):
    api = model(text("hi"))
    async with talk(api, continue_conversation=True) as session:
        assert (await session.ask("hello")).text == "hi"
        assert session.id
    assert texts_sent(api.main_requests[0]) == ["hello"]


async def test_fork_has_the_history_and_a_new_id(model: Model, talk: Talk, lab: Lab):
    old, _ = await earlier(model, talk)
    chosen = str(uuid4())
    api = model(text("42"))
    async with talk(api, resume=old, fork_session=True, session_id=chosen) as session:
        await session.ask("what was it?")
        assert session.id == chosen
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]
    assert {one.id for one in list_sessions(lab.project, config_home=lab.home / ".claude")} == {old, chosen}


async def test_fork_has_no_id_before_its_first_result(model: Model, talk: Talk):
    old, _ = await earlier(model, talk)
    async with talk(model(text("42")), resume=old, fork_session=True) as session:
        assert session.id == ""
        result = await session.ask("what was it?")
        assert session.id == result.session_id
    assert session.id not in ("", old)


async def test_session_resumed_at_an_answer_drops_later_messages(model: Model, talk: Talk):
    async with talk(model(text("one"), text("two"))) as session:
        first = [message async for message in await session.send("keep this")]
        await session.ask("drop this")
    api = model(text("three"))
    options = {"resume": session.id, "resume_session_at": of(AssistantMessage, first)[0].uuid, "fork_session": True}
    async with talk(api, **options) as again:
        await again.ask("go on")
        assert again.id != session.id
    assert texts_sent(api.main_requests[0]) == ["keep this", "go on"]


async def test_session_has_the_given_id(model: Model, talk: Talk, lab: Lab):
    chosen = str(uuid4())
    async with talk(model(text("hi")), session_id=chosen) as session:
        assert session.id == chosen
        result = await session.ask("hello")
    assert result.session_id == chosen
    assert [one.id for one in list_sessions(lab.project, config_home=lab.home / ".claude")] == [chosen]


async def test_an_id_that_is_in_use_is_refused(model: Model, talk: Talk):
    old, _ = await earlier(model, talk)
    with pytest.raises(StartFailed, match="already in use") as caught:
        async with talk(model(), session_id=old):
            pass
    assert old in str(caught.value)
    assert any(argument.startswith("--session-id") for argument in caught.value.argv)


async def test_a_session_that_does_not_exist_cannot_be_resumed(model: Model, talk: Talk):
    missing = str(uuid4())
    with pytest.raises(StartFailed, match=f"No conversation found with session ID: {missing}"):
        async with talk(model(), resume=missing):
            pass


async def test_session_without_persistence_has_no_transcript(model: Model, talk: Talk, lab: Lab):
    async with talk(model(text("hi")), persist_session=False) as session:
        assert (await session.ask("hello")).text == "hi"
    assert list_sessions(lab.project, config_home=lab.home / ".claude") == []


async def test_a_session_is_resumed_from_another_folder(model: Model, talk: Talk, lab: Lab):
    old, _ = await earlier(model, talk)
    elsewhere: Path = lab.outside
    api = model(text("42"))
    async with talk(api, resume=old, cwd=elsewhere) as session:
        await session.ask("what was it?")
        assert session.info is not None
        assert session.info.cwd == str(elsewhere)
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]
