"""Acceptances: stored outside of the folder, and valid for exactly the contents that were shown."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from handrail.settings import Problem
from handrail.settings.trust import TrustError, accept, accept_own_write, revoke, standing_of
from tests.settings.folder import Folder, flip_a_byte

HOOK = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "evil"}]}]}, "env": {"A": "x"}}


def test_a_folder_that_runs_nothing_needs_no_answer(folder: Folder):
    standing = folder.look()
    assert (standing.trusted, standing.must_ask, standing.accepted, standing.changes) == (True, False, None, ())


def test_a_folder_is_untrusted_until_it_is_accepted_and_after_it_is_revoked(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    assert folder.look().must_ask
    folder.accept()
    assert folder.look().trusted
    assert revoke(str(folder.path), str(folder.home))
    assert folder.look().must_ask
    assert not revoke(str(folder.path), str(folder.home))


def test_acceptance_is_stored_privately_outside_of_the_folder(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    before = sorted(folder.path.rglob("*"))
    folder.accept()
    assert sorted(folder.path.rglob("*")) == before
    (kept,) = (folder.home / "handrail" / "trust").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert json.loads(kept.read_bytes())["folder"] == str(folder.path)


def test_changed_byte_ends_the_trust_and_is_reported(folder: Folder):
    path = folder.put(".claude/settings.json", HOOK)
    folder.accept()
    path.write_text(path.read_text().replace("evil", "evim").replace('"A"', '"B"'))
    standing = folder.look()
    assert standing.must_ask
    assert [(change.what, change.name) for change in standing.changes] == [
        ("new", "SessionStart"),
        ("new", "B"),
        ("gone", "SessionStart"),
        ("gone", "A"),
    ]
    path.write_text(json.dumps({**HOOK, "env": {"A": "y"}}, indent=2))
    assert [(change.what, change.name) for change in folder.look().changes] == [("changed", "A")]


def test_meaningless_byte_ends_the_trust_too(folder: Folder):
    path = folder.put(".claude/settings.json", HOOK)
    folder.accept()
    path.write_text(path.read_text() + "\n")
    standing = folder.look()
    assert (standing.must_ask, standing.changes) == (True, ())


def test_restored_contents_are_trusted_again(folder: Folder):
    path = folder.put(".claude/settings.json", HOOK)
    folder.accept()
    flip_a_byte(path)
    assert folder.look().must_ask
    flip_a_byte(path)
    assert folder.look().trusted


def test_shown_contents_are_accepted_not_later_ones(folder: Folder):
    path = folder.put(".claude/settings.json", HOOK)
    shown = folder.look().contents
    path.write_text(path.read_text().replace("evil", "worse"))
    accept(shown, str(folder.home))
    assert folder.look().must_ask


def test_same_files_in_another_folder_are_untrusted(folder: Folder, tmp_path: Path):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    other = tmp_path / "other"
    folder.path.rename(other)
    folder.path = other
    assert folder.look().must_ask


def test_a_link_to_the_folder_is_the_folder(folder: Folder, tmp_path: Path):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    (tmp_path / "link").symlink_to(folder.path)
    folder.path = tmp_path / "link"
    assert folder.look().trusted


def test_an_acceptance_of_another_folder_put_in_its_place_does_not_count(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    (kept,) = (folder.home / "handrail" / "trust").iterdir()
    kept.write_bytes(kept.read_bytes().replace(str(folder.path).encode(), b"/elsewhere"))
    standing = folder.look()
    assert (standing.trusted, standing.accepted) == (False, None)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"folder": 1}', b"\xff", b"[]"])
def test_damaged_acceptance_does_not_count_and_is_reported(folder: Folder, damage: bytes):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    (kept,) = (folder.home / "handrail" / "trust").iterdir()
    kept.write_bytes(damage)
    standing = folder.look()
    assert (standing.trusted, bool(standing.problem)) == (False, True)
    folder.accept()
    assert folder.look().trusted


def test_an_acceptance_that_others_could_have_written_does_not_count(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    (kept,) = (folder.home / "handrail" / "trust").iterdir()
    kept.chmod(0o666)
    assert "others can write it" in folder.look().problem


@pytest.mark.parametrize("inside", [".claude", "."])
def test_acceptance_inside_of_the_folder_does_not_count(folder: Folder, inside: str):
    folder.put(".claude/settings.json", HOOK)
    contents, home = folder.look().contents, str(folder.path / inside)
    with pytest.raises(TrustError, match="lies inside of"):
        accept(contents, home)
    with pytest.raises(TrustError, match="lies inside of"):
        revoke(str(folder.path), home)
    assert "lies inside of" in standing_of(contents, home).problem


def test_more_than_can_be_checked_is_never_accepted_or_trusted(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    contents = msgspec.structs.replace(folder.look().contents, complete=False, problems=(Problem("/x", "too much"),))
    with pytest.raises(TrustError, match="more than can be checked: /x: too much"):
        accept(contents, str(folder.home))
    empty = msgspec.structs.replace(contents, items=())
    assert not standing_of(empty, str(folder.home)).trusted


def test_failure_to_store_an_acceptance_is_reported(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    contents = folder.look().contents
    with pytest.raises(TrustError, match="cannot write"):
        accept(contents, str(folder.put_user("{}")))


def test_own_writes_are_accepted_and_only_they(folder: Folder):
    path = folder.put(".claude/settings.local.json", HOOK)
    folder.accept()
    before = folder.look()
    path.write_text(json.dumps({**HOOK, "permissions": {"allow": ["Read"]}}))
    after = folder.look().contents
    name = ".claude/settings.local.json"
    home = str(folder.home)
    assert not accept_own_write(before, after, name, "another hash", home)
    assert folder.look().must_ask
    folder.put(".mcp.json", {"mcpServers": {"a": {"command": "evil"}}})
    assert not accept_own_write(before, folder.look().contents, name, after.files[name], home)
    (folder.path / ".mcp.json").unlink()
    folder.put(".git/config", "[core]\n\tpager = evil\n")
    assert not accept_own_write(before, folder.look().contents, name, after.files[name], home)
    (folder.path / ".git" / "config").unlink()
    assert accept_own_write(before, folder.look().contents, name, after.files[name], home)
    assert folder.look().trusted


def test_an_own_write_does_not_make_an_untrusted_folder_trusted(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    before = folder.look()
    path = folder.put(".claude/settings.local.json", {"permissions": {"allow": ["Read"]}})
    after = folder.look().contents
    name = os.path.relpath(path, folder.path)
    assert not accept_own_write(before, after, name, after.files[name], str(folder.home))
    assert folder.look().must_ask


def test_acceptance_that_is_a_folder_cannot_be_removed(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    (kept,) = (folder.home / "handrail" / "trust").iterdir()
    kept.unlink()
    kept.mkdir()
    with pytest.raises(TrustError, match="cannot remove"):
        revoke(str(folder.path), str(folder.home))


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, b'{"z":' + b"[" * 100_000 + b"]" * 100_000 + b"}"])
def test_unreadable_acceptance_does_not_count(folder: Folder, content: bytes):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    (kept,) = (folder.home / "handrail" / "trust").iterdir()
    kept.write_bytes(content)
    assert (folder.look().trusted, bool(folder.look().problem)) == (False, True)
    folder.accept()
    assert folder.look().trusted
