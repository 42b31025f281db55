"""handrail.transcripts.archive: a session is marked as archived, and its transcript is left as it is."""

import json
import os
from pathlib import Path

import pytest

from handrail.transcripts import (
    InvalidSessionId,
    SessionNotFound,
    TranscriptError,
    archive_session,
    delete_session,
    find_session,
    list_sessions,
    unarchive_session,
)
from tests.transcripts.conversation import Conversation

ID = "3f2a91c0-1111-4222-8333-444455556666"


def spoken(home: Path, id: str = ID) -> Conversation:
    talk = Conversation(home, id)
    talk.user("hello")
    return talk


def mark(talk: Conversation) -> Path:
    return talk.path.with_suffix("") / "archived.json"


def test_archived_session_is_listed_as_archived_until_it_is_unarchived(tmp_path: Path):
    talk = spoken(tmp_path)
    before = talk.path.read_bytes()
    assert [info.archived for info in list_sessions(config_home=tmp_path)] == [False]
    archive_session(ID, config_home=tmp_path)
    archive_session(ID, config_home=tmp_path)
    assert [info.archived for info in list_sessions(config_home=tmp_path)] == [True]
    assert find_session(ID, tmp_path).archived
    unarchive_session(ID, config_home=tmp_path)
    assert not find_session(ID, tmp_path).archived
    assert talk.path.read_bytes() == before
    assert os.listdir(mark(talk).parent) == ["archived.json"]


def test_mark_has_the_fields_of_the_official_sdk(tmp_path: Path):
    talk = spoken(tmp_path)
    archive_session(ID, config_home=tmp_path)
    written = json.loads(mark(talk).read_bytes())
    assert (written["archived"], written["by"], written["at"][-1]) == (True, "handrail", "Z")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"archived": "yes"}', b" " * 5000 + b'{"archived": true}'])
def test_damaged_mark_counts_as_missing(tmp_path: Path, content: bytes):
    talk = spoken(tmp_path)
    mark(talk).parent.mkdir()
    mark(talk).write_bytes(content)
    assert not find_session(ID, tmp_path).archived


def test_linked_folder_is_neither_read_nor_written(tmp_path: Path):
    talk = spoken(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "archived.json").write_text('{"archived": true}')
    mark(talk).parent.symlink_to(outside)
    assert not find_session(ID, tmp_path).archived
    with pytest.raises(TranscriptError, match="cannot write"):
        unarchive_session(ID, config_home=tmp_path)
    assert (outside / "archived.json").read_text() == '{"archived": true}'


def test_unknown_session_and_invalid_id_are_refused(tmp_path: Path):
    for function in (archive_session, unarchive_session):
        with pytest.raises(SessionNotFound):
            function(ID, config_home=tmp_path)
        with pytest.raises(InvalidSessionId):
            function("../x", config_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_deleting_an_archived_session_deletes_the_mark(tmp_path: Path):
    talk = spoken(tmp_path)
    archive_session(ID, config_home=tmp_path)
    delete_session(ID, config_home=tmp_path)
    assert list(talk.path.parent.iterdir()) == []
