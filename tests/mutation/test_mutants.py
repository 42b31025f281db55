"""Each mutant changes the behaviour of code in one place, and no prose."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation.mutants import mutants_of, mutated

ENGINE = Path(__file__).resolve().parents[2] / "src" / "handrail" / "permissions"


def faults(source: str) -> list[str]:
    """The change of each mutant: old and new source."""
    return [f"{mutant.before} → {mutant.after}" for mutant in mutants_of(source, "m")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a == b", ["a == b → a != b"]),
        ("a < b", ["a < b → a <= b", "a < b → a >= b"]),
        ("a >= b", ["a >= b → a > b", "a >= b → a < b"]),
        ("a < b < c", ["a < b < c → a <= b < c", "a < b < c → a >= b < c", "a < b < c → a < b <= c"]),
        ("a in b", ["a in b → a not in b"]),
        ("a is not b", ["a is not b → a is b"]),
        ("a and b", ["a and b → a or b"]),
        ("not a", ["not a → a"]),
        ("-a", ["-a → a"]),
        ("a + b", ["a + b → a - b"]),
        ("a % b", ["a % b → a // b"]),
        ("a | b", ["a | b → a & b"]),
        ("x(3)", ["3 → 4"]),
        ("x(True)", ["True → False"]),
        ("x('')", ["'' → '~'"]),
        ("x('deny')", ["'deny' → 'eny'"]),
        ("x('*?[')", ["'*?[' → '?['", "'*?[' → '*['", "'*?[' → '*?'"]),
        ("x(f'{a}/{b}')", ["f'{a}/{b}' → f'{a}{b}'"]),
        ("all(a)", ["all(a) → any(a)"]),
        ("a.startswith(b)", ["a.startswith(b) → a.endswith(b)"]),
        ("a[b:c]", ["b:c → :c", "b:c → b:"]),
        ("x(b if a else c)", ["b if a else c → b if not a else c"]),
        ("[a for a in b if a]", ["[a for a in b if a] → [a for a in b]"]),
        ("raise a", ["raise a → pass"]),
        ("a += b", ["a += b → a = b", "a += b → pass"]),
        ("a.b = c", ["a.b = c → pass"]),
        ("if a:\n    b = c", ["if a: → if not a:"]),
    ],
)
def test_changes_of_each_kind(source: str, expected: list[str]):
    found = [fault for fault in faults(source) if not fault.endswith(" → pass") or fault in expected]
    assert found[: len(expected)] == expected


def test_expression_statement_is_removed():
    assert faults("a(b)") == ["a(b) → pass"]


def test_break_and_continue_are_swapped_or_removed():
    assert faults("for a in b:\n    continue\n") == ["continue → break", "continue → pass"]


def test_return_gives_none_or_is_removed():
    assert faults("def f(a):\n    if a:\n        return a\n    b = a\n")[-2:] == [
        "return a → return None",
        "return a → pass",
    ]


def test_false_becomes_true_but_not_none():
    assert faults("def f(a):\n    return False") == ["False → True"]


@pytest.mark.parametrize(
    "source",
    [
        "def f(a):\n    return a",
        "def f(a):\n    try:\n        return a\n    except E:\n        b = a",
        "def f(a):\n    if a is b:\n        c = d\n    else:\n        return a",
    ],
)
def test_last_return_is_not_removed(source: str):
    found = faults(source)
    assert "return a → return None" in found
    assert "return a → pass" not in found


def test_last_return_of_a_try_with_an_else_is_removed():
    assert "return a → pass" in faults(
        "def f(a):\n    try:\n        return a\n    except E:\n        b = a\n    else:\n        c = a"
    )


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        'def f():\n    """A docstring."""',
        "import a\nfrom b import c",
        "a: int | None",
        "def f(a: 'x' = None) -> 'y': ...",
        "__all__ = ['a']",
        "A = Literal['a', 'b']",
        "class A(B, frozen=True): ...",
        "@lru_cache(maxsize=1)\ndef f(): ...",
        "if TYPE_CHECKING:\n    x = 1",
        "a = 'words for people'",
        "a = f'the rule {b} denies it'",
        "a = f'{b}: {c}'",
    ],
)
def test_untestable_code_is_not_changed(source: str):
    assert faults(source) == []


def test_values_in_prose_are_changed():
    assert faults("a = f'at character {b + 1}'") == ["b + 1 → b - 1", "1 → 2"]


def test_pattern_changes_respect_its_syntax():
    found = [fault.partition(" → ")[2] for fault in faults("a = re.compile('[ab]*c?')")]
    assert found == ["re.compile('[^ab]*c?')", "re.compile('[ab]+c?')", "re.compile('[ab]*c')"]


def test_mutant_changes_only_its_node_of_the_tree():
    source = "def f(a):\n    return [a + 1, a + 1]\n"
    trees = [ast.unparse(mutated(source, mutant)).splitlines()[1].strip() for mutant in mutants_of(source, "m")]
    assert trees == [
        "return None",
        "return [a - 1, a + 1]",
        "return [a + 2, a + 1]",
        "return [a + 1, a - 1]",
        "return [a + 1, a + 2]",
    ]


def test_name_has_file_line_and_number():
    assert [mutant.name for mutant in mutants_of("a(b)\nc(1)\n", "m")] == ["m:1:1", "m:2:1", "m:2:2"]


@pytest.mark.parametrize("module", ["decide", "rules.rule", "shell.commands"])
def test_every_mutant_of_the_engine_compiles_and_differs_from_all_others(module: str):
    source = (ENGINE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    found = mutants_of(source, module)
    codes = {compile(mutated(source, mutant), "m", "exec") for mutant in found[::7]}
    assert len(found) > 100
    assert len({mutant.name for mutant in found}) == len(found)
    assert len(codes) == len(found[::7])
    assert compile(source, "m", "exec") not in codes
