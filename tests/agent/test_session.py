from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.agent.arguments import read_arguments
from handrail.agent.errors import Refused
from handrail.agent.session import Session
from handrail.files.resolve import anchors_of, resolve
from handrail.permissions.updates.apply import UpdateRefused
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


def test_missing_flag_settings_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, "--settings", str(tmp_path / "none.json"))
    assert error.code == 1
    assert error.message == f"Error: Settings file not found: {tmp_path / 'none.json'}"


@pytest.mark.parametrize("text", ['{"permissions": 5}', '{"env": []}'])
def test_settings_of_the_command_line_with_invalid_values_are_reported(tmp_path: Path, text: str) -> None:
    [notice] = session(tmp_path, "--settings", text).notices
    assert "only the deny and ask rules of --settings are in force" in notice


@pytest.mark.parametrize("text", ["{", '{"model" 5}'])
def test_settings_of_the_command_line_that_are_broken_are_refused(tmp_path: Path, text: str) -> None:
    assert "--settings" in refused(tmp_path, "--settings", text).message
    (tmp_path / "given.json").write_text(text)
    assert "given.json" in refused(tmp_path, "--settings", str(tmp_path / "given.json")).message


def test_broken_settings_files_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "settings.json").write_text("{")
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    (tmp_path / "project" / ".claude" / "settings.json").write_text("nonsense")
    assert session(tmp_path, "--settings", '{"model": "opus"}').chosen_model == "opus"


def test_setting_sources_select_the_files(tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "settings.json").write_text('{"model": "opus"}')
    assert session(tmp_path).chosen_model == "opus"
    assert session(tmp_path, "--setting-sources", "user").chosen_model == "opus"
    assert session(tmp_path, "--setting-sources", "project,local").chosen_model == ""
    assert session(tmp_path, "--setting-sources=").chosen_model == ""


def test_variables_of_excluded_sources_are_not_set(tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "settings.json").write_text('{"env": {"OWN": "yes"}}')
    assert session(tmp_path).child_environment()["OWN"] == "yes"
    assert "OWN" not in session(tmp_path, "--setting-sources", "project").child_environment()


def test_config_home_is_the_clis_folder_or_the_one_that_is_named(tmp_path: Path) -> None:
    assert Path(session(tmp_path).config_home) == tmp_path / "home" / ".claude"
    named = session(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    assert named.config_home == str(tmp_path / "config")


def test_bypass_is_available_only_on_request(tmp_path: Path) -> None:
    assert not session(tmp_path).circumstances.bypass_available
    assert session(tmp_path, "--allow-dangerously-skip-permissions").circumstances.bypass_available
    assert session(tmp_path, "--dangerously-skip-permissions").mode == "bypassPermissions"
    forbidden = json.dumps({"permissions": {"disableBypassPermissionsMode": "disable"}})
    kept = session(tmp_path, "--dangerously-skip-permissions", "--settings", forbidden)
    assert (kept.mode, kept.circumstances.bypass_available) == ("default", False)


def test_mode_before_plan_is_remembered(tmp_path: Path) -> None:
    own = session(tmp_path, "--permission-mode", "acceptEdits")
    own.set_mode("plan")
    own.set_mode("plan")
    assert own.mode_before_plan == "acceptEdits"
    own.set_mode("manual")
    assert own.mode == "default"


def test_child_environment_has_no_api_keys(tmp_path: Path) -> None:
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
    allowed = {
        name: own.may_read(resolve(str(tmp_path / "project" / name), anchors_of(own.cwd)))
        for name in ("fine", "link", "../secret")
    }
    assert allowed == {"fine": True, "link": False, "../secret": False}


def test_invalid_update_is_refused(tmp_path: Path) -> None:
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


def test_opusplan_is_opus_in_plan_mode_and_sonnet_otherwise(tmp_path: Path) -> None:
    found = session(tmp_path, "--model", "opusplan")
    assert found.model_for("").startswith("claude-sonnet-")
    found.set_mode("plan")
    assert found.model_for("").startswith("claude-opus-")
