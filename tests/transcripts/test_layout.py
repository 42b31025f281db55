"""handrail.transcripts.layout: names and paths, and nothing outside the projects folder."""

import os
from pathlib import Path

import pytest

from handrail.transcripts import (
    InvalidSessionId,
    SessionNotFound,
    TranscriptError,
    delete_session,
    list_sessions,
    match_session,
)
from handrail.transcripts.layout import (
    SessionFile,
    check_session_id,
    config_home,
    folder_below,
    locate,
    open_below,
    project_name,
    projects_folder,
    search_path,
    session_files,
)
from tests.transcripts.conversation import Conversation

ID = "3f2a91c0-1111-4222-8333-444455556666"


def test_config_home_from_environment_or_home():
    assert config_home({"CLAUDE_CONFIG_DIR": "/elsewhere", "HOME": "/home/me"}) == Path("/elsewhere")
    assert config_home({"HOME": "/home/me"}) == Path("/home/me/.claude")
    assert config_home() == Path.home() / ".claude"


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("/work/garden", "-work-garden"),
        ("/work/my_app.v2", "-work-my-app-v2"),
        ("/work/pröj é_x", "-work-pr-j---x"),
        ("/work/emo-\U0001f600x", "-work-emo---x"),
        ("/work/nfd-e\u0301x", "-work-nfd-e-x"),
        ("/work/a/../b", "-work-b"),
    ],
)
def test_project_folder_has_the_name_the_cli_gives_it(directory: str, name: str):
    assert project_name(directory) == name


def test_a_long_project_name_is_cut_and_ends_in_a_hash_of_the_whole_path():
    long = "/tmp/tr/" + "long-dir-name-" * 12 + "/" + "sub-dir-" * 10
    # The hash is the one in a folder that the CLI 2.1.325 made for this path.
    assert project_name(long) == long.replace("/", "-")[:200] + "-w0mvsr"
    assert project_name("/" + "a" * 199) == "-" + "a" * 199
    assert project_name("/" + "a" * 200) != project_name("/" + "a" * 201)


def test_link_to_a_project_has_the_name_of_its_target(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert project_name(tmp_path / "link") == project_name(tmp_path / "real")


@pytest.mark.parametrize("text", ["", "..", "../../etc/passwd", "a/b", ID + "\n", ID[:-1], ID + "/../x", "\0" * 36])
def test_only_a_uuid_is_a_session_id(text: str, tmp_path: Path):
    with pytest.raises(InvalidSessionId):
        check_session_id(text)
    with pytest.raises(InvalidSessionId):
        locate(text, tmp_path)


def test_a_session_has_a_transcript_subagents_and_tool_results():
    file = SessionFile(Path("/p"), "-work", ID)
    assert file.path == Path(f"/p/-work/{ID}.jsonl")
    assert file.subagents == Path(f"/p/-work/{ID}/subagents")
    assert file.tool_results == Path(f"/p/-work/{ID}/tool-results")


def test_a_session_is_found_in_any_project_and_the_newest_of_two_wins(tmp_path: Path):
    old, new = Conversation(tmp_path, ID, "-a"), Conversation(tmp_path, ID, "-b")
    os.utime(old.path, (1, 1))
    assert locate(ID, tmp_path).path == new.path
    os.utime(new.path, (0, 0))
    assert locate(ID, tmp_path).path == old.path


def test_an_unknown_session_is_named_in_the_error(tmp_path: Path):
    with pytest.raises(SessionNotFound, match=ID):
        locate(ID, tmp_path)


def test_links_pipes_and_other_names_are_not_listed(tmp_path: Path):
    kept = Conversation(tmp_path)
    secret = tmp_path / "secret.jsonl"
    secret.write_text("{}")
    folder = kept.path.parent
    (folder / f"{ID}.jsonl").symlink_to(secret)
    (folder / "notes.jsonl").write_text("{}")
    os.mkfifo(folder / "aaaaaaaa-1111-4222-8333-444455556666.jsonl")
    (folder.parent / "-link").symlink_to(folder)
    listed = [found[3:] for found in session_files(projects_folder(tmp_path))]
    assert listed == [(kept.path.parent.name, kept.path.stem)]
    with pytest.raises(SessionNotFound):
        locate(ID, tmp_path)


def test_the_projects_folder_itself_may_be_a_link(tmp_path: Path):
    real = Conversation(tmp_path / "real")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "projects").symlink_to(tmp_path / "real" / "projects")
    assert locate(real.id, tmp_path / "home").path == real.path


def test_a_file_behind_a_link_is_never_opened(tmp_path: Path):
    root, outside = tmp_path / "projects", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "x.jsonl").write_text("secret")
    (root / "folder").symlink_to(outside)
    (root / "x.jsonl").symlink_to(outside / "x.jsonl")
    for path in (root / "folder" / "x.jsonl", root / "x.jsonl", root / ".." / "outside" / "x.jsonl"):
        with pytest.raises(TranscriptError):
            open_below(root, path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TranscriptError, match="not a regular file"):
        open_below(tmp_path, tmp_path / "pipe")


def test_no_descriptor_is_left_open(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    before = len(os.listdir("/dev/fd"))
    with folder_below(tmp_path, tmp_path / "a" / "b"):
        pass
    with pytest.raises(TranscriptError):
        open_below(tmp_path, tmp_path / "a" / "b")
    assert len(os.listdir("/dev/fd")) == before


def test_sessions_of_the_old_folder_are_found_after_those_of_the_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    old = Conversation(tmp_path / ".handrail")
    old.user("old")
    assert locate(old.id).path == old.path
    assert [info.id for info in list_sessions()] == [old.id]
    assert match_session(old.id[:8]).path == old.path
    copy = Conversation(tmp_path / ".claude", session_id=old.id)
    copy.user("copy")
    os.utime(old.path)  # the copy counts, however old it is
    assert locate(old.id).path == copy.path
    assert [info.title for info in list_sessions()] == ["copy"]
    delete_session(old.id)
    assert list_sessions() == []
    assert not old.path.exists()


def test_a_named_config_home_is_the_only_one(tmp_path: Path):
    assert search_path(tmp_path) == [tmp_path]
    assert search_path(env={"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == [Path("/c")]
    assert search_path(env={"HOME": "/h"}) == [Path("/h/.claude"), Path("/h/.handrail")]
