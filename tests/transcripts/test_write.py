"""handrail.transcripts.write: a session is renamed or deleted, and nothing else is touched."""

import os
from pathlib import Path
from typing import Any

import pytest

from handrail.transcripts import (
    Damage,
    InvalidSessionId,
    InvalidTag,
    InvalidTitle,
    SessionNotFound,
    TranscriptError,
    delete_session,
    find_session,
    read_session,
    rename_session,
    tag_session,
)
from handrail.transcripts.layout import locate
from handrail.transcripts.write import create_file
from tests.transcripts.conversation import Conversation

ID = "3f2a91c0-1111-4222-8333-444455556666"


def test_title_is_appended_as_the_cli_does(tmp_path: Path):
    talk = Conversation(tmp_path, ID)
    talk.user("hello")
    before = talk.path.read_bytes()
    rename_session(ID, " The\nbéans ", config_home=tmp_path)
    line = '{"type":"custom-title","customTitle":"The béans","sessionId":"' + ID + '"}\n'
    assert talk.path.read_bytes() == before + line.encode()
    assert find_session(ID, tmp_path).title == "The béans"


def test_a_line_that_was_cut_off_does_not_swallow_the_title(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("hello")
    talk.line(b'{"type":"assistant","mess')
    rename_session(talk.id, "kept", config_home=tmp_path)
    assert find_session(talk.id, tmp_path).title == "kept"
    assert read_session(talk.path).damage == Damage(corrupt=1)


def test_an_empty_file_can_be_named(tmp_path: Path):
    talk = Conversation(tmp_path)
    rename_session(talk.id, "new", config_home=tmp_path)
    assert talk.path.read_bytes().count(b"\n") == 1


def test_a_title_keeps_no_control_characters(tmp_path: Path):
    talk = Conversation(tmp_path)
    rename_session(talk.id, "a\x1b]0;x\x07b\u2028c\ud800", config_home=tmp_path)
    assert find_session(talk.id, tmp_path).title == "a ]0;x b c"


@pytest.mark.parametrize("title", ["", "  \n", "\x00\x1b"])
def test_a_title_without_a_visible_character_is_refused(tmp_path: Path, title: str):
    talk = Conversation(tmp_path)
    with pytest.raises(InvalidTitle):
        rename_session(talk.id, title, config_home=tmp_path)
    assert talk.path.read_bytes() == b""


def test_tag_is_appended_as_the_official_sdks_do(tmp_path: Path):
    talk = Conversation(tmp_path, ID)
    talk.user("hello")
    before = talk.path.read_bytes()
    tag_session(ID, " two\nwords ", config_home=tmp_path)
    line = '{"type":"tag","tag":"two words","sessionId":"' + ID + '"}\n'
    assert talk.path.read_bytes() == before + line.encode()
    assert find_session(ID, tmp_path).tag == "two words"


def test_last_tag_counts_and_none_removes_it(tmp_path: Path):
    talk = Conversation(tmp_path, ID)
    talk.user("hello")
    seen: list[str | None] = []
    for tag in ("one", "two", None, "three"):
        tag_session(ID, tag, config_home=tmp_path)
        seen.append(find_session(ID, tmp_path).tag)
    assert seen == ["one", "two", None, "three"]


@pytest.mark.parametrize("tag", ["", " \n", "\x00"])
def test_a_tag_without_a_visible_character_is_refused(tmp_path: Path, tag: str):
    talk = Conversation(tmp_path)
    with pytest.raises(InvalidTag, match="None removes the tag"):
        tag_session(talk.id, tag, config_home=tmp_path)
    assert talk.path.read_bytes() == b""


def test_unknown_session_is_not_created_by_rename(tmp_path: Path):
    with pytest.raises(SessionNotFound):
        rename_session(ID, "x", config_home=tmp_path)
    with pytest.raises(SessionNotFound):
        delete_session(ID, config_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_invalid_id_deletes_nothing(tmp_path: Path):
    talk = Conversation(tmp_path)
    for text in ("..", f"../{talk.path.parent.name}/{talk.id}", talk.id[:8]):
        with pytest.raises(InvalidSessionId):
            delete_session(text, config_home=tmp_path)
    assert talk.path.exists()


def test_deleting_removes_the_transcript_and_its_folder_only(tmp_path: Path):
    talk, other = Conversation(tmp_path), Conversation(tmp_path)
    folder = talk.path.with_suffix("")
    (folder / "subagents").mkdir(parents=True)
    (folder / "subagents" / "agent-a.jsonl").write_text("{}")
    delete_session(talk.id, config_home=tmp_path)
    assert sorted(talk.path.parent.iterdir()) == [other.path]


def test_deleting_again_is_allowed_on_request(tmp_path: Path):
    talk = Conversation(tmp_path)
    delete_session(talk.id, config_home=tmp_path)
    delete_session(talk.id, config_home=tmp_path, missing_ok=True)
    with pytest.raises(SessionNotFound):
        delete_session(talk.id, config_home=tmp_path)
    delete_session(talk.id, config_home=tmp_path / "missing", missing_ok=True)


def test_deleting_finishes_a_deletion_that_was_cut_short(tmp_path: Path):
    talk = Conversation(tmp_path)
    folder = talk.path.with_suffix("")
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "index.jsonl").write_text("{}")
    talk.path.unlink()
    delete_session(talk.id, config_home=tmp_path)
    assert not folder.exists()


def test_deleting_covers_every_project_and_the_folders_beside_them(tmp_path: Path):
    talk, other = Conversation(tmp_path), Conversation(tmp_path)
    elsewhere = tmp_path / "projects" / "-elsewhere"
    (elsewhere / talk.id / "tool-results").mkdir(parents=True)
    (elsewhere / f".{talk.id}.unfinished").write_text("x")
    named = ["file-history/{}/a@v1", "todos/{}-agent-{}.json", "tasks/{}/1.json", "session-env/{}/x", "debug/{}.txt"]
    for session in (talk.id, other.id):
        for name in named:
            path = tmp_path / name.replace("{}", session)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(session)
    delete_session(talk.id, config_home=tmp_path)
    left = [str(path) for path in tmp_path.rglob("*")]
    assert not any(talk.id in path for path in left)
    assert sum(other.id in path and Path(path).is_file() for path in left) == len(named) + 1


def test_a_link_in_place_of_a_folder_beside_the_projects_is_not_followed(tmp_path: Path):
    talk = Conversation(tmp_path)
    precious = tmp_path / "precious" / talk.id
    precious.mkdir(parents=True)
    (tmp_path / "todos").symlink_to(precious.parent)
    delete_session(talk.id, config_home=tmp_path)
    assert precious.exists()


def test_a_file_that_cannot_be_deleted_is_reported_and_the_session_stays_listed(tmp_path: Path, monkeypatch: Any):
    talk = Conversation(tmp_path)
    talk.path.with_suffix("").mkdir()

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("handrail.transcripts.write.shutil.rmtree", refuse)
    with pytest.raises(TranscriptError, match=f"{talk.id}.*Permission denied"):
        delete_session(talk.id, config_home=tmp_path)
    assert talk.path.exists()


def test_a_link_in_place_of_the_folder_is_removed_and_its_target_kept(tmp_path: Path):
    talk = Conversation(tmp_path)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    talk.path.with_suffix("").symlink_to(precious)
    delete_session(talk.id, config_home=tmp_path)
    assert list(talk.path.parent.iterdir()) == []
    assert (precious / "file").read_text() == "x"


def test_a_link_inside_the_folder_is_not_followed(tmp_path: Path):
    talk = Conversation(tmp_path)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    talk.path.with_suffix("").mkdir()
    (talk.path.with_suffix("") / "subagents").symlink_to(precious)
    delete_session(talk.id, config_home=tmp_path)
    assert (precious / "file").read_text() == "x"


def test_new_file_is_private_and_never_seen_in_part(tmp_path: Path):
    file = locate(Conversation(tmp_path, ID).id, tmp_path)
    file.path.unlink()

    def failing():
        yield b"one\n"
        assert not file.path.exists()
        raise TranscriptError("stop")

    with pytest.raises(TranscriptError, match="stop"):
        create_file(file, failing())
    assert list(file.path.parent.iterdir()) == []
    previous = os.umask(0)
    try:
        create_file(file, [b"one\n", b"two\n"])
    finally:
        os.umask(previous)
    assert [path.name for path in file.path.parent.iterdir()] == [file.path.name]
    assert (file.path.read_bytes(), file.path.stat().st_mode & 0o777) == (b"one\ntwo\n", 0o600)
