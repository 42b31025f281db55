"""Every key that git documents is classified."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from handrail.settings.git_keys import kind_of_key, runs_something

_LINES = (Path(__file__).parent / "git_keys.txt").read_text().splitlines()
ROWS = [(line.split()[1], line.split()[0]) for line in _LINES if not line.startswith("#")]
_FAMILIES = tuple(key.removesuffix("*") for key, what in ROWS if key.endswith(".*") and what == "safe")


def _example(key: str) -> str:
    """A name of this kind as git prints it, such as `diff.x.command` for `diff.<driver>.command`."""
    section, *middle, last = re.sub(r"<[^>]*>|\*", "x", key).split(".")
    return ".".join([section.lower(), *middle, last.lower()])


def _found(key: str) -> str:
    name = _example(key)
    if runs_something(name, "!evil" if key.startswith("alias.") else "evil"):
        return "runs"
    return "address" if runs_something(name, "ext::evil") else "safe"


def test_each_considered_key_is_judged_as_listed():
    assert {key: what for key, what in ROWS if what != "group" and _found(key) != what} == {}
    assert len(ROWS) > 500


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_every_key_that_the_installed_git_documents_was_considered():
    output = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout
    documented = re.findall(r"^[A-Za-z][\w-]*\.\S+$", output, re.MULTILINE)
    considered = {_example(key) for key, _ in ROWS}
    missing = [key for key in documented if _example(key) not in considered and not key.startswith(_FAMILIES)]
    assert len(documented) > 500
    assert missing == []


@pytest.mark.parametrize("key", [key for key, what in ROWS if what == "group"])
def test_a_key_for_one_address_counts_like_the_general_one(key: str):
    start = _example(key).removesuffix("x.x")
    general = [_example(other) for other, what in ROWS if what == "runs" and other.lower().startswith(start)]
    assert general
    for name in general:
        assert runs_something(f"{start}https://example.org/a.b.{name.rpartition('.')[2]}", "evil"), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core.fsmonitor", "true"),
        ("pager.log", "false"),
        ("protocol.file.allow", "user"),
        ("remote.origin.promisor", "false"),
        ("submodule.lib.update", "rebase"),
        ("alias.st", "status -sb"),
        ("remote.origin.url", "git@example.org:a/b.git"),
        ("branch.main.remote", "origin"),
        ("branch.main.vscode-merge-base", "origin/main"),
        ("lfs.repositoryformatversion", "0"),
        ("advice.ignoredhook", "false"),
    ],
)
def test_values_that_run_nothing_are_harmless(name: str, value: str):
    assert not runs_something(name, value)


@pytest.mark.parametrize(
    "name", ["svn.authorsprog", "remote.x.annex-cost-command", "gitflow.path.hooks", "new.key.program", "x.y.z.editor"]
)
def test_an_unknown_key_that_names_a_program_counts(name: str):
    assert runs_something(name, "evil")
    assert kind_of_key(name) == name
