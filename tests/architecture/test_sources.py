"""The sources stay small, explained and well named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.repository import files, modules, name_of, tree_of

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
NAMES_THAT_SAY_NOTHING = {"_internal", "common", "core", "helpers", "manager", "misc", "types", "utils"}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_file_is_read_in_one_sitting(path: Path):
    assert len(path.read_text().splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_function_fits_a_screen(path: Path):
    sizes = {
        f"{node.name} (line {node.lineno})": (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > LONGEST_FUNCTION} == {}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_opens_by_saying_what_it_is(path: Path):
    assert (ast.get_docstring(tree_of(path)) or "").strip()


def test_no_file_or_folder_has_a_name_that_says_nothing():
    python = [path for path in files() if path.suffix == ".py"]
    assert [name_of(path) for path in python if NAMES_THAT_SAY_NOTHING & {path.stem, path.parent.name}] == []
