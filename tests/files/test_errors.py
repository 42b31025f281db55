"""What went wrong with a file can be shown on any screen."""

from __future__ import annotations

from handrail.files.errors import FileError, OutsideRoot


def test_an_error_names_the_path_and_the_problem_without_what_changes_the_screen():
    error = OutsideRoot("a\x1b[2J\u202eb", "it leads out")
    assert str(error) == r"a\x1b[2J\u202eb: it leads out"
    assert (error.path, error.problem, isinstance(error, FileError)) == ("a\x1b[2J\u202eb", "it leads out", True)
