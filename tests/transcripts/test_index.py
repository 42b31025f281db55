"""handrail.transcripts.index: what is known of sessions from the two ends of their files."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from handrail.transcripts import (
    AmbiguousSession,
    InvalidSessionId,
    SessionInfo,
    SessionNotFound,
    find_session,
    list_sessions,
    match_session,
)
from handrail.transcripts.index import WINDOW
from tests.transcripts.conversation import CWD, PROJECT, Conversation


def titles(home: Path, **options: int) -> list[str]:
    return [info.title for info in list_sessions(config_home=home, **options)]


def aged(talk: Conversation, seconds: int) -> Conversation:
    os.utime(talk.path, (seconds, seconds))
    return talk


def test_missing_home_has_no_sessions(tmp_path: Path):
    assert list_sessions(config_home=tmp_path / "none") == []


def test_session_info_is_complete(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.note("queue-operation", operation="enqueue", timestamp="2026-03-01T09:59:00.000Z", content="Water the beans")
    talk.user("Water the beans")
    talk.assistant("Done.")
    talk.user("And the peas", gitBranch="peas")
    talk.note("last-prompt", lastPrompt="And the peas")
    aged(talk, 1_800_000_000)
    assert list_sessions(config_home=tmp_path) == [
        SessionInfo(
            id=talk.id,
            path=talk.path,
            project=PROJECT,
            title="Water the beans",
            cwd=CWD,
            first_prompt="Water the beans",
            last_prompt="And the peas",
            git_branch="peas",
            created=datetime(2026, 3, 1, 9, 59, tzinfo=UTC),
            modified=datetime.fromtimestamp(1_800_000_000, UTC),
            size=talk.path.stat().st_size,
        )
    ]
    assert find_session(talk.id, tmp_path) == list_sessions(config_home=tmp_path)[0]


def test_title_precedence(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("prompt")
    assert titles(tmp_path) == ["prompt"]
    talk.note("summary", summary="summary", leafUuid="x")
    assert titles(tmp_path) == ["summary"]
    talk.note("ai-title", aiTitle="made")
    assert titles(tmp_path) == ["made"]
    talk.note("custom-title", customTitle="given")
    talk.note("ai-title", aiTitle="made later")
    assert titles(tmp_path) == ["given"]
    talk.note("custom-title", customTitle="given\nlater")
    assert titles(tmp_path) == ["given later"]


def test_title_inside_a_tool_call_is_ignored(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("prompt")
    talk.assistant({"type": "tool_use", "id": "t", "name": "x", "input": {"customTitle": "fake", "summary": "fake"}})
    talk.entry("assistant", customTitle="fake", summary="fake", message={"content": []})
    assert titles(tmp_path) == ["prompt"]


@pytest.mark.parametrize(
    "noise",
    [
        "<local-command-stdout>x</local-command-stdout>",
        "<command-name>/clear</command-name>",
        "<task-notification>x</task-notification>",
        "[Request interrupted by user for tool use]",
        "   ",
        [{"type": "tool_result", "tool_use_id": "t", "content": "x"}],
    ],
)
def test_noise_is_not_the_first_prompt(tmp_path: Path, noise: object):
    talk = Conversation(tmp_path)
    talk.user("meta", isMeta=True)
    talk.user("summary of before", isCompactSummary=True)
    talk.user(noise)
    talk.user(
        [
            {"type": "image"},
            {"type": "text", "text": "<ide_selection>x</ide_selection>"},
            {"type": "text", "text": "real"},
        ]
    )
    assert titles(tmp_path) == ["real"]


def test_session_of_one_command_is_titled_by_it(tmp_path: Path):
    Conversation(tmp_path).user("<command-message>x</command-message><command-name>/init</command-name>")
    assert titles(tmp_path) == ["/init"]


def test_empty_sessions_and_old_subagents_are_not_listed(tmp_path: Path):
    silent, side = Conversation(tmp_path), Conversation(tmp_path)
    silent.note("mode", mode="normal")
    side.user("inner", isSidechain=True)
    assert titles(tmp_path) == []
    assert find_session(silent.id, tmp_path).title == ""
    with pytest.raises(SessionNotFound):
        find_session(side.id, tmp_path)


def test_only_the_two_ends_of_a_long_file_are_read(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("first")
    talk.note("custom-title", customTitle="in the head")
    talk.note("blob", data="x" * WINDOW)
    talk.note("ai-title", aiTitle="in the middle, never seen")
    talk.note("blob", data="x" * WINDOW)
    talk.note("last-prompt", lastPrompt="in the tail")
    (info,) = list_sessions(config_home=tmp_path)
    assert (info.title, info.first_prompt, info.last_prompt) == ("in the head", "first", "in the tail")


def test_a_first_prompt_longer_than_the_window_still_begins_the_title(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user('Say "hi"\nto ' + "x" * WINDOW * 2)
    (info,) = list_sessions(config_home=tmp_path)
    assert info.title.startswith('Say "hi" to xxx')
    assert len(info.title) <= 200


def test_a_long_image_first_leaves_the_last_prompt_for_a_title(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user([{"type": "image", "source": {"data": "A" * WINDOW * 2}}, {"type": "text", "text": "what is this"}])
    talk.note("last-prompt", lastPrompt="what is this")
    assert titles(tmp_path) == ["what is this"]


def test_damaged_files_are_listed(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.line(b"\0" * 100 + b'\n{"type":"user"\n[]\n')
    talk.user("half \ud83d")
    talk.line(b'{"type":"custom-title","customTitle":"cut o')
    assert titles(tmp_path) == ["half \ufffd\ufffd\ufffd"]


def test_newest_first_and_pages_do_not_overlap(tmp_path: Path):
    for age in (3, 1, 4, 2):
        talk = Conversation(tmp_path, project=f"-p{age % 2}")
        talk.user(str(age))
        aged(talk, age)
    assert titles(tmp_path) == ["4", "3", "2", "1"]
    assert [titles(tmp_path, limit=2), titles(tmp_path, limit=2, offset=2)] == [["4", "3"], ["2", "1"]]
    assert [titles(tmp_path, limit=0), titles(tmp_path, offset=9)] == [[], []]


def test_a_directory_has_only_its_own_sessions(tmp_path: Path):
    Conversation(tmp_path).user("here")
    Conversation(tmp_path, project="-work-garden-shed").user("elsewhere")
    assert [info.title for info in list_sessions(CWD, config_home=tmp_path)] == ["here"]


def test_unchanged_file_is_not_read_again(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("one")
    (first,) = list_sessions(config_home=tmp_path)
    assert list_sessions(config_home=tmp_path)[0] is first
    talk.note("custom-title", customTitle="two")
    assert titles(tmp_path) == ["two"]


def test_a_prefix_finds_a_session_if_it_is_the_only_one(tmp_path: Path):
    one = Conversation(tmp_path, "aaaa1111-0000-4000-8000-000000000001")
    Conversation(tmp_path, "aaaa2222-0000-4000-8000-000000000002").user("two")
    one.user("one")
    assert match_session("AAAA1", tmp_path).id == one.id
    with pytest.raises(AmbiguousSession, match="2 sessions"):
        match_session("aaaa", tmp_path)
    with pytest.raises(SessionNotFound, match="bbbb"):
        match_session("bbbb", tmp_path)


@pytest.mark.parametrize("text", ["", "aa", "../aaaa", "aaaa*", "x" * 100])
def test_invalid_prefix_is_refused(tmp_path: Path, text: str):
    with pytest.raises(InvalidSessionId):
        match_session(text, tmp_path)
