"""Paths that rules match, and paths that are safe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.permissions.paths.matching import (
    OWN_SETTINGS,
    Anchors,
    PathKind,
    Resolved,
    allows,
    denies,
    inside,
    is_doubtful,
    is_protected,
    is_refused,
    matches,
    may_match_below,
    opens_own_settings,
)
from tests.permissions.path_layout import Layout, build_layout

HERE = Anchors(cwd="/w/proj/sub", project="/w/proj", home="/w/home")


def plain(path: str, real: str | None = None, kind: PathKind = "file", links: int = 1) -> Resolved:
    return Resolved(asked=path, lexical=path, real=real or path, kind=kind, links=links)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return build_layout(tmp_path_factory.mktemp("layout"))


@pytest.mark.parametrize(
    ("content", "path", "expected"),
    [
        ("//etc/host*", "/etc/hosts", True),
        ("//etc/host*", "/w/proj/etc/hosts", False),
        ("//**", "/anything", True),
        ("~/.ssh/**", "/w/home/.ssh/id_rsa", True),
        ("~", "/w/home/x", True),
        ("~/.ssh/**", "/w/proj/sub/.ssh/id_rsa", False),
        ("/src/**", "/w/proj/src/a", True),
        ("/src/**", "/w/proj/sub/src/a", False),
        ("/src/**", "/src/a", False),
        ("./src/**", "/w/proj/sub/src/a", True),
        ("./.env", "/w/proj/sub/a/.env", False),
        (".env", "/w/proj/sub/a/.env", True),
        (".env", "/w/proj/.env", False),
        ("src/**", "/w/proj/sub/src/a", True),
        ("src/**", "/w/proj/sub/vendor/src/a", False),
        ("**/src/**", "/w/proj/sub/vendor/src/a", True),
        ("../lib/**", "/w/proj/lib/a", True),
        ("a/../lib", "/w/proj/sub/lib", True),
        ("a/../../lib/", "/w/proj/lib/x", True),
        (".", "/w/proj/sub/x", True),
        ("*", "/w/proj/sub/a/b", True),
        ("*", "/w/proj/x", False),
        ("SRC/**", "/w/proj/sub/src/a", False),
        ("!src", "/w/proj/sub/src", False),
    ],
)
def test_a_content_begins_where_its_anchor_says(content: str, path: str, expected: bool):
    assert matches(content, path, HERE) is expected


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("secrets/**", "/w/proj/sub/secrets"),
        ("secrets/**", "/w/proj/sub/a/secrets/x"),
        ("secrets/**", "/w/proj/sub/SECRETS/x"),
        ("secrets/**", "/w/proj/sub/secrets\\x"),
        ("secrets/**", "/w/proj/sub/a\\..\\secrets\\x"),
        ("secrets\\**", "/w/proj/sub/secrets/x"),
        ("café/**", "/w/proj/sub/cafe\u0301/x"),
        (".env", "/w/proj/sub/.ｅｎｖ"),
        (".env", "/w/proj/sub/.env. "),
        ("/etc/shadow", "/etc/shadow"),
        ("/etc/shadow", "/w/proj/etc/shadow"),
        ("[A-Z]x", "/w/proj/sub/Qx"),
        ("*", "/anything"),
        ("**", "/anything"),
        ("~/.ssh/**", "/W/HOME/.SSH/id_rsa"),
        ("!src", "/anything"),
        ("**/../x", "/anything"),
    ],
)
def test_a_deny_forgives_nothing_that_could_be_the_same_file(content: str, path: str):
    assert denies(content, plain(path), HERE)


def test_a_deny_holds_for_the_link_for_its_target_and_for_every_link_between():
    resolved = Resolved(asked="a", lexical="/w/proj/sub/a", real="/data/c", kind="file", via=("/w/proj/b", "/data/c"))
    assert [denies(content, resolved, HERE) for content in ("a", "/b", "//data/**", "other")] == [
        True,
        True,
        True,
        False,
    ]


def test_an_allow_needs_both_the_link_and_its_target():
    inside_both = plain("/w/proj/sub/a", real="/w/proj/sub/b")
    leads_out = plain("/w/proj/sub/a", real="/data/b")
    assert allows("./**", inside_both, HERE)
    assert not allows("./**", leads_out, HERE)
    assert allows("//**", leads_out, HERE)


def test_an_allow_of_what_is_in_a_folder_allows_a_look_into_the_folder():
    folder = plain("/w/proj/sub/src", kind="directory")
    assert allows("src/**", folder, HERE)
    assert not allows("src/*.ts", folder, HERE)
    assert not allows("src/**", plain("/w/proj/sub/src"), HERE)


@given(
    st.sampled_from(["./**", "src/**", "*.ts", "~/**", "//w/**", "/sub/[a-s]*", "../**/x"]),
    st.lists(st.sampled_from(["w", "proj", "sub", "src", "home", "a.ts", "x"]), min_size=1, max_size=5),
)
def test_deny_covers_everything_that_an_allow_with_the_same_content_covers(content: str, names: list[str]):
    resolved = plain("/" + "/".join(names))
    assert denies(content, resolved, HERE) or not allows(content, resolved, HERE)


def test_a_folder_reached_by_a_link_has_both_spellings(tmp_path: Path):
    anchors = Anchors(cwd="/link", project="/link", home="/h", real_cwd="/data/p", real_project="/data/p")
    resolved = plain("/link/src/a", real="/data/p/src/a")
    assert allows("src/**", resolved, anchors)
    assert allows("/src/**", resolved, anchors)
    assert inside(resolved, anchors)
    assert denies("src/**", plain("/data/p/src/a"), anchors)


@pytest.mark.parametrize(
    ("path", "real", "expected"),
    [
        ("/w/proj/sub", None, True),
        ("/w/proj/sub/x", None, True),
        ("/w/proj/sub_evil/x", None, False),
        ("/w/proj/x", None, False),
        ("/extra/x", None, True),
        ("/w/proj/sub/x", "/extra/x", True),
        ("/w/proj/sub/x", "/elsewhere", False),
    ],
)
def test_inside_is_the_working_folder_and_the_added_ones(path: str, real: str | None, expected: bool):
    anchors = Anchors(cwd="/w/proj/sub", project="/w/proj", home="/w/home", additional=("/extra",))
    assert inside(plain(path, real), anchors) is expected


@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "proc", "loop", "other"])
def test_path_that_is_not_a_file_is_never_allowed(kind: PathKind):
    resolved = plain("/w/proj/sub/x", kind=kind)
    assert is_refused(resolved)
    assert not allows("./**", resolved, HERE)
    assert not inside(resolved, HERE)


@pytest.mark.parametrize("kind", ["file", "directory", "missing"])
def test_a_file_a_folder_or_nothing_is_not_refused(kind: PathKind):
    assert is_refused(plain("/x", kind=kind)) == ""


def test_a_nul_is_refused_whatever_it_would_be():
    assert is_refused(plain("/x\x00y"))


@pytest.mark.parametrize("asked", ["file:///etc/passwd", "~root/x", "\u202etxt.exe", "a\\b", "$HOME/x"])
def test_a_path_that_could_be_read_differently_is_never_inside(asked: str):
    resolved = Resolved(asked=asked, lexical="/w/proj/sub/x", real="/w/proj/sub/x", kind="file")
    assert is_doubtful(resolved)
    assert not inside(resolved, HERE)
    assert not allows("./**", resolved, HERE)


def test_a_file_with_other_names_is_doubtful_except_where_package_managers_put_it():
    assert "1 other name " in is_doubtful(plain("/w/proj/sub/hard", links=2))
    assert "2 other names " in is_protected(plain("/w/proj/sub/hard", links=3), HERE)
    assert is_doubtful(plain("/w/proj/sub/node_modules/x/index.js", links=3)) == ""
    assert is_doubtful(plain("/w/proj/sub/dir", kind="directory", links=9)) == ""


def test_two_readings_of_one_path_are_doubtful(layout: Layout):
    resolved = layout.resolve("in/../app.ts")
    assert resolved.ambiguous
    assert "two files" in is_doubtful(resolved)


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".Claude/settings.json",
        ".git\\config",
        ".mcp.json",
        ".envrc",
        "link/.bashrc",
        "dangling",
    ],
)
def test_a_protected_file_is_protected_in_any_spelling(layout: Layout, path: str):
    assert is_protected(layout.resolve(path), layout.anchors)


def test_every_hidden_file_right_in_the_home_is_protected():
    assert is_protected(plain("/w/home/.anyrc"), HERE)
    assert is_protected(plain("/w/home/.config/other/x"), HERE) == ""
    assert is_protected(plain("/w/home/notes"), HERE) == ""


def test_an_ordinary_file_is_not_protected(layout: Layout):
    assert is_protected(layout.resolve("src/app.ts"), layout.anchors) == ""


def test_the_own_settings_are_opened_by_their_own_rule_alone(layout: Layout):
    def opened(path: str, content: str | None) -> bool:
        return opens_own_settings(content, layout.resolve(path), layout.anchors)

    project, home = OWN_SETTINGS
    assert opened(".claude/settings.json", project)
    assert opened("~/.claude/settings.json", home)
    assert not opened("~/.claude/settings.json", project)
    assert not opened(".claude/settings.json", "./**")
    assert not opened(".claude/settings.json", None)
    assert not opened(".Claude/settings.json", project)
    assert not opened(".claude/.git/hooks/pre-commit", project)
    assert not opened(".claude/../.git/config", project)


def test_own_settings_that_are_a_link_to_somewhere_else_stay_closed(layout: Layout, tmp_path: Path):
    mine = build_layout(tmp_path)
    os.mkdir(f"{mine.cwd}/.claude")
    os.symlink(f"{mine.w}/home/.bashrc", f"{mine.cwd}/.claude/settings.json")
    assert not opens_own_settings(OWN_SETTINGS[0], mine.resolve(".claude/settings.json"), mine.anchors)


def test_own_settings_reached_through_a_folder_elsewhere_stay_closed():
    resolved = Resolved(
        asked=".claude/x", lexical="/w/proj/.claude/x", real="/w/proj/.claude/x", kind="file", via=("/elsewhere/x",)
    )
    assert not opens_own_settings(OWN_SETTINGS[0], resolved, HERE)


def test_a_path_of_a_hundred_thousand_characters_is_judged():
    resolved = Resolved(asked="x", lexical="/" + "a/" * 50_000, real=None, kind="other")
    assert not denies("~/.ssh/**", resolved, HERE)
    assert denies("//**/a", resolved, HERE)
    assert is_protected(resolved, HERE) == ""


@pytest.mark.parametrize(
    ("content", "folder", "expected"),
    [
        ("./.env", "/w", True),
        (".env", "/w/src", True),
        ("./.env", "/w/src", False),
        ("src/**", "/w/src/deep", True),
        ("src/*.ts", "/w/src", True),
        ("src/*.ts", "/w/docs", False),
        ("**/x", "/w/docs", True),
        ("//etc/**", "/w", False),
        ("//w/src/x", "/w", True),
        ("~/.ssh/**", "/h", True),
        ("~/.ssh/**", "/h/proj", False),
        ("!x", "/w", True),
    ],
)
def test_rules_that_may_cover_files_below_a_folder(content: str, folder: str, expected: bool):
    assert may_match_below(content, folder, Anchors(cwd="/w", project="/w", home="/h")) is expected
