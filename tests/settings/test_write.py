"""Updates written to settings files: whole, private to their scope, and with everything else kept."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate
from handrail.settings import WriteRefused, write, write_update
from tests.settings.folder import Folder

KEPT = """{
    "$schema": "https://json.example/x",
    "tomorrow": {"unknown": [1, 2,   3]},
    "permissions": {
        "allow": ["Read"],
        "future": 1e3
    },
    "env": {"A": "\\u00e9"}
}"""


def update(kind: str = "addRules", destination: str = "localSettings", **fields: Any) -> PermissionUpdate:
    return PermissionUpdate(type=kind, destination=destination, **fields)


def rule(tool: str, content: str | None = None) -> PermissionRuleValue:
    return PermissionRuleValue(tool_name=tool, rule_content=content)


def put(folder: Folder, given: PermissionUpdate) -> str:
    return write_update(given, folder=str(folder.path), home=str(folder.home))


@pytest.mark.parametrize(
    ("destination", "path"),
    [
        ("localSettings", "project/.claude/settings.local.json"),
        ("projectSettings", "project/.claude/settings.json"),
        ("userSettings", "home/.claude/settings.json"),
    ],
)
def test_each_destination_has_its_file_and_a_new_one_is_made(folder: Folder, destination: str, path: str):
    written = put(folder, update(destination=destination, rules=[rule("Bash", "git push:*"), rule("Read")]))
    assert written == str(folder.root / path)
    assert json.loads(Path(written).read_text()) == {"permissions": {"allow": ["Bash(git push:*)", "Read"]}}
    assert os.listdir(os.path.dirname(written)) == [os.path.basename(written)]


def test_everything_else_in_the_file_is_kept_byte_for_byte(folder: Folder):
    path = folder.put(".claude/settings.json", KEPT, mode=0o640)
    put(folder, update(destination="projectSettings", rules=[rule("Bash", "ls")], behavior="deny"))
    put(folder, update(destination="projectSettings", rules=[rule("Glob")]))
    expected = KEPT.replace('["Read"]', '["Read", "Glob"]').replace(
        "1e3\n", '1e3,\n        "deny": [\n            "Bash(ls)"\n        ]\n'
    )
    assert path.read_text() == expected
    assert path.stat().st_mode & 0o777 == 0o640


def test_byte_order_mark_and_line_ends_are_kept(folder: Folder):
    path = folder.put(".claude/settings.json", b'\xef\xbb\xbf{\r\n\t"a": 1\r\n}\r\n')
    put(folder, update("setMode", "projectSettings", mode="plan"))
    assert path.read_bytes() == (
        b'\xef\xbb\xbf{\r\n\t"a": 1,\r\n\t"permissions": {\r\n\t\t"defaultMode": "plan"\r\n\t}\r\n}\r\n'
    )


def permissions(folder: Folder) -> Any:
    return json.loads((folder.path / ".claude" / "settings.local.json").read_text())["permissions"]


def test_every_update_has_its_effect(folder: Folder):
    put(folder, update(rules=[rule("Read"), rule("Bash", "a b"), rule("Edit")]))
    put(folder, update("removeRules", rules=[rule("Read"), rule("Glob")]))
    assert permissions(folder) == {"allow": ["Bash(a b)", "Edit"]}
    put(folder, update("replaceRules", rules=[rule("Grep")]))
    put(folder, update("replaceRules", rules=[rule("Write")], behavior="ask"))
    put(folder, update("addDirectories", directories=["/a", "/b"]))
    put(folder, update("removeDirectories", directories=["/a"]))
    put(folder, update("setMode", mode="acceptEdits"))
    assert permissions(folder) == {
        "allow": ["Grep"],
        "ask": ["Write"],
        "additionalDirectories": ["/b"],
        "defaultMode": "acceptEdits",
    }


def test_rule_is_removed_in_any_spelling(folder: Folder):
    folder.put(".claude/settings.local.json", {"permissions": {"allow": [" Bash(ls) ", "Bash(ls)", "(broken"]}})
    put(folder, update("removeRules", rules=[rule("Bash", "ls")]))
    assert permissions(folder) == {"allow": ["(broken"]}


def test_update_without_effect_keeps_the_text(folder: Folder):
    path = folder.put(".claude/settings.json", KEPT)
    put(folder, update(destination="projectSettings", rules=[rule("Read")]))
    put(folder, update("removeRules", destination="projectSettings", rules=[rule("Write")], behavior="deny"))
    assert path.read_text() == KEPT


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (update(destination="policySettings", rules=[rule("Read")]), "policySettings are read-only"),
        (update(destination="flagSettings", rules=[rule("Read")]), "flagSettings are read-only"),
        (update(destination="session", rules=[rule("Read")]), "'session' is not kept in a file"),
        (update("grantAll"), "'grantAll' is not a known update"),
        (update(behavior="maybe", rules=[rule("Read")]), "a rule can allow, deny or ask, not 'maybe'"),
        (update(rules=[rule("Read,Bash")]), "is not a valid rule"),
        (update(rules=[rule("")]), "is not a valid rule"),
        (update("setMode", mode="bypassPermissions"), "never kept by an update"),
        (update("setMode", "userSettings", mode="bypassPermissions"), "never kept by an update"),
        (update("setMode", mode="yolo"), "'yolo' is not a mode"),
    ],
)
def test_invalid_update_is_refused_and_changes_nothing(folder: Folder, given: PermissionUpdate, why: str):
    before = sorted(folder.root.rglob("*"))
    with pytest.raises(WriteRefused, match=why):
        put(folder, given)
    assert sorted(folder.root.rglob("*")) == before


@pytest.mark.parametrize("broken", ["{", '{"permissions": []}', "", '{"a": 1, "a": 2}'])
def test_a_broken_file_is_left_as_it_is(folder: Folder, broken: str):
    path = folder.put(".claude/settings.local.json", broken)
    with pytest.raises(WriteRefused, match="it is broken and was left as it is: .*settings.local.json"):
        put(folder, update(rules=[rule("Read")]))
    assert path.read_text() == broken


def test_a_pipe_in_the_place_of_the_file_is_refused(folder: Folder):
    (folder.path / ".claude").mkdir()
    os.mkfifo(folder.path / ".claude" / "settings.local.json")
    with pytest.raises(WriteRefused, match="it is not a plain file"):
        put(folder, update(rules=[rule("Read")]))


def test_a_project_cannot_lead_a_write_to_the_settings_of_the_user(folder: Folder):
    user = folder.put_user({})
    (folder.path / ".claude").mkdir()
    (folder.path / ".claude" / "settings.local.json").symlink_to(user)
    with pytest.raises(WriteRefused, match="it is not a plain file"):
        put(folder, update(rules=[rule("Bash")]))
    (folder.path / ".claude" / "settings.local.json").unlink()
    (folder.path / ".claude").rmdir()
    (folder.path / ".claude").symlink_to(folder.home)
    with pytest.raises(WriteRefused, match="cannot write"):
        put(folder, update(rules=[rule("Bash")]))
    assert user.read_text() == "{}"
    assert os.listdir(folder.home) == ["settings.json"]


def test_the_users_own_link_is_kept_and_its_target_written(folder: Folder, tmp_path: Path):
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    (folder.home / "settings.json").symlink_to(target)
    assert put(folder, update(destination="userSettings", rules=[rule("Read")])) == str(target)
    assert (folder.home / "settings.json").is_symlink()
    assert json.loads(target.read_text()) == {"permissions": {"allow": ["Read"]}}


def test_failed_write_leaves_the_old_file(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    path = folder.put(".claude/settings.local.json", "{}")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "fsync", full)
    with pytest.raises(WriteRefused, match="cannot write .*: No space left on device"):
        put(folder, update(rules=[rule("Read")]))
    assert (path.read_text(), os.listdir(path.parent)) == ("{}", ["settings.local.json"])


def test_writers_at_the_same_time_lose_nothing(folder: Folder):
    names = [f"Tool{number}" for number in range(12)]
    threads = [threading.Thread(target=put, args=(folder, update(rules=[rule(name)]))) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(permissions(folder)["allow"]) == sorted(names)


HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "make lint"}]}]}}


def test_in_a_trusted_folder_what_handrail_writes_is_accepted(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    put(folder, update(rules=[rule("Read")]))
    put(folder, update(destination="projectSettings", rules=[rule("Glob")]))
    assert folder.look().trusted
    assert folder.rules("allow") == ["Glob", "Read"]


def test_a_fresh_folder_stays_trusted_when_handrail_writes_the_first_rule(folder: Folder):
    put(folder, update(rules=[rule("Read")]))
    assert folder.look().trusted
    assert folder.rules("allow") == ["Read"]


def test_write_in_an_untrusted_folder_is_not_accepted(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    put(folder, update(rules=[rule("Read")]))
    assert folder.look().must_ask
    assert folder.rules("allow") == []
    put(folder, update(rules=[rule("Bash", "rm:*")], behavior="deny"))
    assert folder.rules("deny") == ["Bash(rm:*)"]


def test_file_is_written_if_the_acceptance_cannot_be_stored(folder: Folder):
    (folder.home / "handrail").write_text("in the way")
    put(folder, update(rules=[rule("Read")]))
    assert permissions(folder) == {"allow": ["Read"]}
    assert folder.look().must_ask


def test_writers_at_the_same_time_leave_a_trusted_folder_trusted(folder: Folder):
    folder.put(".claude/settings.json", HOOK)
    folder.accept()
    places = ("localSettings", "projectSettings")
    updates = [update(destination=places[n % 2], rules=[rule("Bash", f"echo {n}")]) for n in range(12)]
    threads = [threading.Thread(target=put, args=(folder, each)) for each in updates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folder.look().trusted
    assert len(folder.rules("allow")) == 12


@pytest.mark.parametrize(
    ("path", "why"),
    [("", "it is empty"), ("\ud800", "not valid UTF-8"), ("a\x00b", "a NUL"), ("~root", "another user")],
)
def test_unusable_folder_is_not_written(folder: Folder, path: str, why: str):
    with pytest.raises(WriteRefused, match=f"cannot be worked in: .*{why}"):
        put(folder, update("addDirectories", directories=["/ok", path]))
    assert not (folder.path / ".claude").exists()


def test_a_value_is_written_at_a_path_of_keys(folder: Folder):
    (folder.home / "settings.json").write_text('{"model": "opus"}')
    path = write.write_value("userSettings", ["a", "b"], "c", folder=str(folder.path), home=str(folder.home))
    assert json.loads(Path(path).read_text()) == {"model": "opus", "a": {"b": "c"}}
