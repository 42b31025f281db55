"""Ordinary commands that only read run without a question; those that do more are asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.permissions.ordinary_commands import build_project, decide_in, ordinary_commands

HOSTS_EXPECT_IT = "the CLI asks for this version, and hosts expect the question"
INTERPRETS = "it evaluates a program of the project"
ASKED = {
    "git --version": HOSTS_EXPECT_IT,
    "npm --version": HOSTS_EXPECT_IT,
    "node --version && npm --version": HOSTS_EXPECT_IT,
    "npm run": "with one more word it runs a script",
    "git remote show -n origin": "without -n it connects",
    "bundle list": INTERPRETS,
    "make -n": INTERPRETS,
    "make -n test": INTERPRETS,
    "make --dry-run build": INTERPRETS,
}
"""Reading commands that are asked for even with a cage, and why."""
CAGED = {
    "export": "the cage removes secrets from the environment",
    "rg --pre ./scripts/build.sh foo": "the script runs in the cage too",
}
"""Commands that run without a question in the cage although a user may expect one, and why."""
MOST_ASKED_WITHOUT_CAGE = 109
"""A change of a description should lower this number, and never raise it."""

Asked = Callable[[bool], set[str]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder: Path = tmp_path_factory.mktemp("project")
    build_project(folder)
    commands = [item.command for item in ordinary_commands()]
    return lambda cage: {text for text in commands if decide_in(folder, text, cage=cage).behavior != "allow"}


READING = {item.command for item in ordinary_commands() if item.unasked}
OTHER = {item.command for item in ordinary_commands() if not item.unasked}


def test_the_collection_has_at_least_500_different_commands():
    assert len(READING | OTHER) == len(ordinary_commands()) >= 500
    assert not READING & OTHER


def test_with_a_cage_only_named_reading_commands_ask(asked: Asked):
    assert asked(True) & READING == set(ASKED)


def test_without_a_cage_few_reading_commands_ask(asked: Asked):
    assert len(asked(False) & READING) <= MOST_ASKED_WITHOUT_CAGE


def test_commands_that_do_more_are_asked_for(asked: Asked):
    assert OTHER - asked(False) == set()


def test_with_a_cage_commands_that_do_more_are_asked_for_unless_they_are_named(asked: Asked):
    assert OTHER - asked(True) == set(CAGED)
