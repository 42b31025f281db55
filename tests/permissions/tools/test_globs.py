"""Where the pattern of a search leads."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.permissions.tools.globs import MOST_ALTERNATIVES, globbed


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        ("**/*.py", []),
        ("*.{ts,tsx}", []),
        ("{1..3}.txt", ["p/1..3.txt"]),
        ("src/{a,b}/**", ["p/src/b", "p/src/a"]),
        ("src/*", ["p/src"]),
        ("a/b.txt", ["p/a/b.txt"]),
        ("/etc/*", ["/etc"]),
        ("/*", ["/"]),
        ("~/.ssh/*", ["~/.ssh"]),
        ("../*", ["p/.."]),
        ("*/../../x", ["p//../.."]),
        ("\\.\\./x*", ["p/.."]),
        ("{..,x}/*", ["p/x", "p/.."]),
        ("{.,a}./x*", ["p/a.", "p/.."]),
        ("{/etc,x}/*", ["p/x", "/etc"]),
        ("{a,{b,../..}}/*", ["p/../..", "p/a", "p/b"]),
        ("@(..|x)/*", ["/"]),
        ("{a,b}" * 7, ["/"]),
        ("{" + "a," * (MOST_ALTERNATIVES + 1) + "../..}", ["/"]),
        ("{never closed/../*", ["p//.."]),
        ("{" + "a," * MOST_ALTERNATIVES + "..}", ["p/..", "p/a"]),
        ("", []),
    ],
)
def test_every_folder_that_a_pattern_reaches_is_named(pattern: str, places: list[str]):
    assert globbed("Glob", {"pattern": pattern}, "p") == places


@pytest.mark.parametrize(("tool", "given"), [("Grep", {"pattern": "/etc/*"}), ("Glob", {}), ("Glob", {"pattern": 7})])
def test_only_a_pattern_of_files_counts(tool: str, given: dict[str, Any]):
    assert globbed(tool, given, "p") == []


def test_a_flood_of_braces_is_cut_short():
    assert globbed("Glob", {"pattern": "{a,b}" * 20_000}, "p") == ["/"]
    assert globbed("Glob", {"pattern": "{" * 200_000}, "p") == []
