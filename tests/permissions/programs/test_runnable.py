"""Programs by the effect of a lasting permission for them."""

from __future__ import annotations

from handrail.permissions.programs.runnable import INTERPRETERS, RISKY, SCRIPT_RUNNERS, SUBCOMMANDS


def test_no_program_that_can_run_anything_has_words_that_are_suggested():
    assert (INTERPRETERS | RISKY).isdisjoint(SUBCOMMANDS.keys() | SCRIPT_RUNNERS.keys())


def test_words_that_run_something_else_are_never_suggested():
    words = {word for several in SUBCOMMANDS.values() for one in several for word in one.split()}
    assert words.isdisjoint({"exec", "run-script", "x", "dlx", "install", "push", "submodule", "apply", "rm"})
