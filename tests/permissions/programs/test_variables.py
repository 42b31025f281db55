"""Which variables may be set unasked."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.variables import is_harmless_alone, is_harmless_before


@pytest.mark.parametrize(
    ("name", "value", "before", "alone"),
    [
        ("NODE_ENV", "test", True, True),
        ("LC_ALL", "C", True, True),
        ("LC_ALLx", "C", False, False),
        ("CI", "1", True, True),
        ("x", "1", False, True),
        ("name", "rm", False, True),
        ("PAGER", "cat", True, True),
        ("PAGER", "", True, True),
        ("GIT_PAGER", "sh", False, False),
        ("EDITOR", "true", True, True),
        ("EDITOR", "vi", False, False),
        ("PATH", "/x", False, False),
        ("LD_PRELOAD", "x", False, False),
        ("BASH_ENV", "x", False, False),
        ("IFS", "x", False, False),
        ("GIT_SSH_COMMAND", "x", False, False),
        ("PYTHONPATH", "x", False, False),
        ("GOFLAGS", "x", False, False),
        ("PS4", "x", False, False),
        ("MY_TOKEN", "x", False, False),
        ("https_proxy", "x", False, False),
        ("_x", "x", False, False),
        ("XPATHX", "x", False, True),
    ],
)
def test_a_variable_is_harmless_or_not(name: str, value: str, before: bool, alone: bool):
    assert (is_harmless_before(name, value), is_harmless_alone(name, value)) == (before, alone)
