"""Finding the CLI."""

import os
from pathlib import Path

import pytest

from handrail import CliNotFound, OptionsError
from handrail.client import find_cli as module
from handrail.client.find_cli import cli_version, find_cli


def executable(path: Path, body: str = "exit 0") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return str(path)


def test_cli_path_takes_precedence(tmp_path: Path):
    asked, named = executable(tmp_path / "asked"), executable(tmp_path / "named")
    assert find_cli(asked, {"HANDRAIL_CLI": named}) == asked
    assert find_cli(Path(asked), {}) == asked


def test_variable_precedes_path(tmp_path: Path):
    named, on_path = executable(tmp_path / "named"), executable(tmp_path / "bin" / "claude")
    folder = str(tmp_path / "bin")
    assert find_cli(None, {"HANDRAIL_CLI": named, "PATH": folder}) == named
    assert find_cli(None, {"PATH": folder}) == on_path
    assert find_cli(None, {"HANDRAIL_CLI": "", "PATH": folder}) == on_path


def test_name_is_searched_on_path(tmp_path: Path):
    other = executable(tmp_path / "bin" / "other-cli")
    assert find_cli("other-cli", {"PATH": str(tmp_path / "bin")}) == other


def test_a_relative_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = executable(tmp_path / "cli")
    monkeypatch.chdir(tmp_path)
    assert find_cli("./cli", {}) == asked


def test_tilde_is_expanded(own_home: Path):
    installed = executable(own_home / "cli")
    assert find_cli("~/cli", {}) == installed


@pytest.mark.parametrize("place", module.PLACES)
def test_locations_of_installers_are_searched(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if not place.startswith("~"):
        monkeypatch.setattr(module, "PLACES", ("~/elsewhere/claude",))
        place = "~/elsewhere/claude"
    installed = executable(Path(place.replace("~", str(tmp_path))))
    assert find_cli(None, {"PATH": "/nowhere", "HOME": str(tmp_path)}) == installed


def test_executable_in_the_working_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    executable(tmp_path / "claude")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "PLACES", ())
    for path in (".", "", ":", f".{os.pathsep}bin"):
        with pytest.raises(CliNotFound):
            find_cli(None, {"PATH": path, "HOME": "/nowhere"})


def test_missing_cli_error_lists_places_and_advice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PLACES", ("~/.local/bin/claude",))
    with pytest.raises(CliNotFound) as caught:
        find_cli(None, {"PATH": "/nowhere", "HOME": "/home/me"})
    assert caught.value.looked == ["PATH (/nowhere)", "/home/me/.local/bin/claude"]
    for word in ("npm install", "cli_path", "/home/me/.local/bin/claude"):
        assert word in str(caught.value)


@pytest.mark.parametrize(("mode", "problem"), [(0o600, "is not executable"), (None, "does not exist")])
def test_unusable_cli_path_is_rejected(mode: int | None, problem: str, tmp_path: Path):
    path = tmp_path / "cli"
    if mode is not None:
        path.write_text("x")
        path.chmod(mode)
    with pytest.raises(OptionsError, match=problem) as caught:
        find_cli(path, {})
    assert caught.value.option == "cli_path"
    with pytest.raises(OptionsError, match=f"from HANDRAIL_CLI\\) {problem}"):
        find_cli(None, {"HANDRAIL_CLI": str(path)})


def test_cli_version_is_returned(tmp_path: Path):
    assert cli_version(executable(tmp_path / "a", "echo 2.1.325 '(Claude Code)'")) == "2.1.325 (Claude Code)"


def test_cli_version_is_empty_on_failure(tmp_path: Path):
    assert cli_version(executable(tmp_path / "a", "echo oops; exit 1")) == ""
    assert cli_version(str(tmp_path / "missing")) == ""
    assert cli_version(executable(tmp_path / "b", "exec sleep 60"), timeout=0.05) == ""
