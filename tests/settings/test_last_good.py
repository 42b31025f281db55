"""The restrictions of a file are remembered while it is broken."""

import json
import os
from pathlib import Path

import pytest

from handrail.settings.files import Place, read_file
from handrail.settings.last_good import LastGood
from tests.settings.folder import Folder

GOOD = {"permissions": {"deny": ["Bash(rm:*)"], "ask": ["Write"], "allow": ["Bash(ls:*)"]}}


@pytest.mark.parametrize("broken", ["", "{{{", '{"permissions": {"allow": ["Bash"]}', "[]"])
def test_broken_file_keeps_its_restrictions_and_grants_nothing_f17(folder: Folder, broken: str):
    path = folder.put_user(GOOD)
    assert folder.rules("allow") == ["Bash(ls:*)"]
    path.write_text(broken)
    settings = folder.load().settings
    assert [(rule.behavior, str(rule.rule), rule.line) for rule in settings.rules] == [
        ("deny", "Bash(rm:*)", 4),
        ("ask", "Write", 7),
    ]
    assert len(settings.problems) == 1


def test_pipe_in_place_of_the_file_keeps_its_restrictions(folder: Folder):
    path = folder.put_user(GOOD)
    folder.load()
    path.unlink()
    os.mkfifo(path)
    assert (folder.rules("deny"), folder.rules("allow")) == (["Bash(rm:*)"], [])


def test_valid_or_removed_file_replaces_what_was_remembered(folder: Folder):
    path = folder.put_user(GOOD)
    folder.load()
    folder.put_user({"permissions": {"deny": ["Read"]}})
    folder.load()
    path.write_text("{")
    assert folder.rules("deny") == ["Read"]
    path.unlink()
    assert folder.rules("deny") == []
    path.write_text("{")
    assert folder.rules("deny") == []


def test_remembered_rules_are_not_duplicated(folder: Folder):
    path = folder.put_user(GOOD)
    folder.load()
    path.write_text('{"permissions": {"deny": ["Bash(rm:*)", "Read"],')
    assert folder.rules("deny") == ["Bash(rm:*)", "Read"]


def test_without_a_home_rules_are_remembered_in_the_process(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(GOOD))
    memory, place = LastGood(), Place("userSettings", str(path))
    memory.fill([read_file(place)])
    path.write_text("")
    (file,) = memory.fill([read_file(place)])
    assert [rule.text for rule in file.rule_texts()] == ["Bash(rm:*)", "Write"]
    (file,) = LastGood().fill([read_file(place)])
    assert file.rule_texts() == []


def test_read_only_home_is_not_an_error(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(GOOD))
    (tmp_path / "file").write_text("not a folder")
    memory, place = LastGood(str(tmp_path / "file")), Place("userSettings", str(path))
    memory.fill([read_file(place)])
    path.write_text("")
    (file,) = memory.fill([read_file(place)])
    assert [rule.text for rule in file.rule_texts()] == ["Bash(rm:*)", "Write"]


def test_a_memory_that_others_could_have_written_does_not_count(folder: Folder):
    path = folder.put_user(GOOD)
    folder.load()
    (kept,) = (folder.home / "handrail" / "last-good").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.chmod(0o666)
    path.write_text("")
    assert folder.rules("deny") == []


def test_a_damaged_memory_is_an_empty_one(folder: Folder):
    path = folder.put_user(GOOD)
    folder.load()
    (kept,) = (folder.home / "handrail" / "last-good").iterdir()
    kept.write_text("{")
    path.write_text("")
    assert folder.rules("deny") == []


def test_flag_settings_are_not_remembered(folder: Folder):
    folder.load(flag=json.dumps(GOOD))
    assert not (folder.home / "handrail").exists()


def test_a_memory_that_cannot_be_read_remembers_nothing(folder: Folder):
    path = folder.put_user({"permissions": {"deny": ["Read(x)"]}})
    folder.load()
    (kept,) = (folder.home / "handrail" / "last-good").iterdir()
    kept.write_bytes(b'{"z":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    path.write_text("{")
    assert folder.rules("deny") == []
