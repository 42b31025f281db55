from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.agent.arguments import read_arguments
from handrail.agent.errors import Refused
from handrail.agent.session import Session
from handrail.permissions.updates import UpdateRefused
from handrail.schema.permission_types import PermissionUpdate


def session(folder: Path, *flags: str, **environment: str) -> Session:
    project, home = folder / "project", folder / "home"
    (project / ".claude").mkdir(parents=True, exist_ok=True)
    (home / ".claude").mkdir(parents=True, exist_ok=True)
    return Session(read_arguments(flags), {"HOME": str(home), **environment}, str(project))


def refused(folder: Path, *flags: str) -> Refused:
    with pytest.raises(Refused) as error:
        session(folder, *flags)
    return error.value


def test_settings_of_the_command_line_that_are_not_there_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, "--settings", str(tmp_path / "none.json"))
    assert error.code == 1
    assert "--settings" in error.message
    assert "none.json: there is no such file" in error.message


@pytest.mark.parametrize("text", ["{", '{"permissions": 5}', '{"env": []}'])
def test_settings_of_the_command_line_that_are_broken_are_refused(tmp_path: Path, text: str) -> None:
    assert "--settings" in refused(tmp_path, "--settings", text).message
    (tmp_path / "given.json").write_text(text)
    assert "given.json" in refused(tmp_path, "--settings", str(tmp_path / "given.json")).message


def test_broken_settings_elsewhere_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "settings.json").write_text("{")
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    (tmp_path / "project" / ".claude" / "settings.json").write_text("nonsense")
    assert session(tmp_path, "--settings", '{"model": "opus"}').chosen_model == "opus"


def test_only_the_sources_that_are_wanted_count(tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "settings.json").write_text('{"model": "opus"}')
    assert session(tmp_path).chosen_model == "opus"
    assert session(tmp_path, "--setting-sources", "user").chosen_model == "opus"
    assert session(tmp_path, "--setting-sources", "project,local").chosen_model == ""
    assert session(tmp_path, "--setting-sources=").chosen_model == ""


def test_what_is_written_goes_elsewhere_than_what_is_read_unless_a_folder_is_named(tmp_path: Path) -> None:
    own = session(tmp_path)
    assert (Path(own.config_home).name, Path(own.data_home).name) == (".claude", ".handrail")
    named = session(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    assert named.config_home == named.data_home == str(tmp_path / "config")


def test_bypassing_is_there_only_where_it_was_asked_for_and_not_forbidden(tmp_path: Path) -> None:
    assert not session(tmp_path).circumstances.bypass_available
    assert session(tmp_path, "--allow-dangerously-skip-permissions").circumstances.bypass_available
    assert session(tmp_path, "--dangerously-skip-permissions").mode == "bypassPermissions"
    forbidden = json.dumps({"permissions": {"disableBypassPermissionsMode": "disable"}})
    kept = session(tmp_path, "--dangerously-skip-permissions", "--settings", forbidden)
    assert (kept.mode, kept.circumstances.bypass_available) == ("default", False)


def test_the_way_back_from_a_plan_is_remembered(tmp_path: Path) -> None:
    own = session(tmp_path, "--permission-mode", "acceptEdits")
    own.set_mode("plan")
    own.set_mode("plan")
    assert own.mode_before_plan == "acceptEdits"
    own.set_mode("manual")
    assert own.mode == "default"


def test_children_get_no_keys_of_ours(tmp_path: Path) -> None:
    own = session(tmp_path, ANTHROPIC_API_KEY="secret", OTHER="kept")
    child = own.child_environment()
    assert "secret" not in child.values()
    assert child["OTHER"] == "kept"
    assert own.key_source == "ANTHROPIC_API_KEY"


def test_a_file_outside_may_not_be_read_unasked_nor_through_a_link(tmp_path: Path) -> None:
    own = session(tmp_path)
    (tmp_path / "secret").write_text("s")
    (tmp_path / "project" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "project" / "fine").write_text("f")
    allowed = {name: own.may_read(str(tmp_path / "project" / name)) for name in ("fine", "link", "../secret")}
    assert allowed == {"fine": True, "link": False, "../secret": False}


def test_an_update_that_cannot_be_is_refused(tmp_path: Path) -> None:
    own = session(tmp_path)
    with pytest.raises(UpdateRefused):
        own.apply(PermissionUpdate(type="setMode", mode="bypassPermissions", destination="session"))
    assert own.mode == "default"


def test_a_system_prompt_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "who.txt").write_text("You are a cat.")
    path = str(tmp_path / "who.txt")
    assert session(tmp_path, "--system-prompt-file", path).system_prompt == "You are a cat."
    assert session(tmp_path, "--append-system-prompt-file", path).append_system_prompt == "You are a cat."
    assert "cannot read" in refused(tmp_path, "--system-prompt-file", str(tmp_path / "none")).message
