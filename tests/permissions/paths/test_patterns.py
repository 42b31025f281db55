"""Path contents of rules mean what gitignore says they mean."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.permissions.paths.patterns import LONGEST_PATTERN, compile_pattern, escape, problem_of


def matches(pattern: str, path: str, **how: bool) -> bool:
    return compile_pattern(pattern, **how).matches(path.split("/"))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/app.ts", "src/app.ts", True),
        ("src", "src/deep/app.ts", True),
        ("src/", "src/app.ts", True),
        ("src/", "src", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("src/**/test", "src/test", True),
        ("src/**/test", "src/a/b/test/x", True),
        ("**/test", "a/b/test", True),
        ("**/test", "a/b/testing", False),
        ("**", "anything/at/all", True),
        ("a/**/b/**/c", "a/x/b/y/z/c", True),
        ("a/**/b/**/c", "a/x/c/y/z/b", False),
        ("**/a/b", "a/x/a/a/b", True),
        ("*.ts", "app.ts", True),
        ("*.ts", "app.tsx", False),
        ("src/*.ts", "src/a/app.ts", False),
        ("a**b", "axxb", True),
        ("a*b*c", "a1b2b3c", True),
        ("a*b*c", "acb", False),
        ("*a", "aab", False),
        ("?.ts", "a.ts", True),
        ("?.ts", ".ts", False),
        ("[abc].ts", "b.ts", True),
        ("[a-c].ts", "d.ts", False),
        ("[!a-c].ts", "d.ts", True),
        ("[^a-c].ts", "a.ts", False),
        ("[]].ts", "].ts", True),
        ("[z-a].ts", "m.ts", False),
        ("[!z-a].ts", "m.ts", True),
        ("[a\\]].ts", "].ts", True),
        ("[abc", "[abc", True),
        ("\\*.ts", "*.ts", True),
        ("\\*.ts", "a.ts", False),
        ("end\\", "end\\", True),
        ("trailing  ", "trailing", True),
        ("trailing\\ ", "trailing ", True),
        ("dir/ ", "dir", False),
        (".*", ".env", True),
        ("*", ".env", True),
        ("a.b", "axb", False),
    ],
)
def test_a_pattern_means_what_gitignore_says(pattern: str, path: str, expected: bool):
    assert matches(pattern, path) is expected


def test_a_pattern_may_begin_anywhere():
    assert matches(".env", "a/b/.env", anywhere=True)
    assert matches(".env", "a/.env/x", anywhere=True)
    assert not matches(".env", "a/b/.env2", anywhere=True)
    assert matches("**", "a", anywhere=True)


def test_a_forgiving_pattern_means_more():
    assert matches("Secrets/**", "secrets", forgiving=True)
    assert matches("app/[id]/x", "app/[id]/x", forgiving=True)
    assert matches("app/[id]/x", "app/d/x", forgiving=True)
    assert not matches("app/[id]/x", "app/[id]/x")


@pytest.mark.parametrize(
    "content", ["", "  ", "!src", "a\x00", "**/../x", "x/**/..", "[[:alpha:]]", "a" * (LONGEST_PATTERN + 1)]
)
def test_a_content_that_cannot_be_used_says_why(content: str):
    assert problem_of(content)


@pytest.mark.parametrize("content", ["\\!src", "src/**", "../x", "a/../b", "#x", "a b"])
def test_a_content_that_can_be_used_has_no_problem(content: str):
    assert problem_of(content) == ""


NAMES = st.text(alphabet=st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(NAMES.filter(lambda name: name not in (".", "..")))
def test_an_escaped_name_means_itself_and_nothing_else(name: str):
    pattern = compile_pattern(escape(name))
    assert pattern.matches([name])
    assert not pattern.matches([f"{name}x"])
    assert not pattern.matches([f"x{name}"])


@given(st.text(alphabet="ab*?[]!\\/.", min_size=1, max_size=12), st.text(alphabet="ab/.", min_size=1, max_size=12))
def test_no_pattern_breaks_the_matcher(pattern: str, path: str):
    for forgiving in (False, True):
        assert matches(pattern, path, forgiving=forgiving) in (True, False)


@pytest.mark.parametrize("pattern", ["**/a/**/a/**/b", "*a*a*a*a*b", "[a-z]*[a-z]*[a-z]*1"])
def test_a_long_path_is_matched_without_going_back_over_it_for_ever(pattern: str):
    assert not matches(pattern, "/".join(["a"] * 20_000))
    assert not matches(pattern, "a" * 100_000)


CASES = ["src/a.ts", "src/deep/a.ts", "lib/src/a.ts", ".env", "a/.env", "a/b/c/d", "ab/c.py", "[x]/y"]
PATTERNS = [
    "/src/",
    "/src/**",
    "/**/src/**",
    "/*.ts",
    "/src/*.ts",
    "/a/**/d",
    "/a?/*.py",
    "/[ab]*/c*",
    "/\\[x\\]/y",
    "/**",
]


def test_git_reads_every_pattern_the_same_way(tmp_path: Path):
    """The reference is git itself: what it would ignore is what we match."""
    for name in CASES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    subprocess.run(["git", "init", "-q", tmp_path], check=True, capture_output=True)
    for pattern in PATTERNS:
        (tmp_path / ".git/info/exclude").write_text(pattern + "\n")
        run = subprocess.run(
            ["git", "-C", tmp_path, "check-ignore", "--no-index", "--stdin"],
            input="\n".join(CASES),
            capture_output=True,
            text=True,
        )
        ours = [name for name in CASES if matches(pattern, name)]
        assert (pattern, run.stdout.split()) == (pattern, ours)
