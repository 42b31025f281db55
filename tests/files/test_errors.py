"""File errors are safe to print on a terminal."""

from __future__ import annotations

from handrail.files.errors import FileError, OutsideRoot


def test_error_contains_path_and_problem_without_control_characters():
    error = OutsideRoot("a\x1b[2J\u202eb", "it leads out")
    assert str(error) == r"a\x1b[2J\u202eb: it leads out"
    assert (error.path, error.problem, isinstance(error, FileError)) == ("a\x1b[2J\u202eb", "it leads out", True)
