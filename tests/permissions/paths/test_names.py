"""The names in a path, as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.permissions.paths.names import absolute, bare_name, fold, is_below, names_of, oddity, shown, squash


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("src/app.ts", "/w/proj/src/app.ts"),
        ("./src//app.ts", "/w/proj/src/app.ts"),
        ("src/../../home/x", "/w/home/x"),
        ("../../../../etc", "/etc"),
        ("/etc/passwd", "/etc/passwd"),
        ("~/notes", "/w/home/notes"),
        ("~", "/w/home"),
        ("~root/notes", "/w/proj/~root/notes"),
        ("a/~/b", "/w/proj/a/~/b"),
        ("", "/w/proj"),
        ("...", "/w/proj/..."),
    ],
)
def test_a_path_is_absolute_as_text(asked: str, expected: str):
    assert absolute(asked, "/w/proj", "/w/home") == expected


@given(st.text(alphabet="ab./~", max_size=30))
def test_an_absolute_path_has_no_dots_left_and_stays_as_it_is(path: str):
    found = absolute(path, "/w/proj", "/w/home")
    assert found.startswith("/")
    assert not {"", ".", ".."} & set(found[1:].split("/")) or found == "/"
    assert squash(found) == found == absolute(found, "/elsewhere", "/nowhere")
    assert names_of(found) == [name for name in found.split("/") if name]


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("/w/proj", "/w/proj", True),
        ("/w/proj/a", "/w/proj", True),
        ("/w/proj/a", "/w/proj/", True),
        ("/w/proj_evil/a", "/w/proj", False),
        ("/w", "/w/proj", False),
        ("/anything", "/", True),
    ],
)
def test_a_path_is_below_a_folder_by_whole_names(path: str, folder: str, expected: bool):
    assert is_below(path, folder) is expected


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("x\x00.txt", "NUL"),
        ("a\nb", "control"),
        ("a\x9bb", "control"),
        ("a\u2028b", "control"),
        ("\u202etxt.exe", "invisible"),
        ("a\u200bb", "invisible"),
        ("\udcff", "UTF-8"),
        ("file:///etc/passwd", "address"),
        ("C:\\x", "drive"),
        ("~root/.ssh/id_rsa", "another user"),
        ("$HOME/.ssh", "variable"),
        ("${HOME}/.ssh", "variable"),
        ("%USERPROFILE%\\x", "variable"),
        ("$HOME", "variable"),
        ("%2e%2e/x", "escapes"),
        ("..%2Fx", "escapes"),
        (".git\\config", "backslash"),
    ],
)
def test_an_odd_path_is_named_as_such(path: str, word: str):
    assert word in oddity(path)


@pytest.mark.parametrize(
    "path", ["-rf", "a b/c.txt", "~/x", "~", "routes/$id.tsx", "größe.txt", "日本.md", "a:b", "a~1"]
)
def test_a_plain_path_is_not_odd(path: str):
    assert oddity(path) == ""


def test_a_path_is_shown_without_what_changes_the_screen():
    assert shown("a\x1b[8m\u202eb\x00\udcff é") == r"a\x1b[8m\u202eb\x00\udcff é"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".Claude", ".claude"),
        (".GIT", ".git"),
        (".cl\u200caude", ".claude"),
        ("．git", ".git"),
        (".ｇｉｔ", ".git"),
        ("ẞ", "ss"),
        ("e\u0301", "é"),
        (".env. .", ".env"),
        ("...", "..."),
    ],
)
def test_a_folded_name_forgives_case_and_look_alikes(name: str, expected: str):
    assert fold(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".git::$INDEX_ALLOCATION", ".git"),
        (".git . .", ".git"),
        ("GIT~1", ".git"),
        ("CLAUDE~2", ".claude"),
        ("SETTIN~1.JSON", ".settin.json"),
        ("app.ts", "app.ts"),
        ("...", "..."),
    ],
)
def test_a_bare_name_is_what_a_forgiving_disk_would_open(name: str, expected: str):
    assert bare_name(name) == expected
