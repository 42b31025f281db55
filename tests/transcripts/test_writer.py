"""Which program wrote a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.transcripts import SessionNotFound, is_written_by_agent
from tests.transcripts.conversation import Conversation

OURS = {"writtenBy": "handrail-agent"}


def test_session_is_the_agents_if_it_wrote_every_message(tmp_path: Path):
    talk = Conversation(tmp_path)
    assert not is_written_by_agent(talk.id, config_home=tmp_path)
    talk.note("last-prompt", lastPrompt="hi")
    talk.user("hi", **OURS)
    talk.line(b"damaged\n")
    talk.assistant("hello", **OURS)
    assert is_written_by_agent(talk.id, config_home=tmp_path)
    talk.user("and now?")
    assert not is_written_by_agent(talk.id, config_home=tmp_path)


def test_text_that_looks_like_the_mark_is_not_the_mark(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user('"writtenBy":"handrail-agent"')
    assert not is_written_by_agent(talk.id, config_home=tmp_path)


def test_unknown_session_is_an_error(tmp_path: Path):
    with pytest.raises(SessionNotFound):
        is_written_by_agent("11111111-2222-4333-8444-555555555555", config_home=tmp_path)
