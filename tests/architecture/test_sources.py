"""Every module has a docstring and a specific name."""

from __future__ import annotations

import ast

from tests.architecture.repository import files, modules, name_of, tree_of

EMPTY_NAMES = {"_internal", "common", "core", "helpers", "manager", "misc", "types", "utils"}
NAMED_BY_OTHERS = {"src/handrail/claude_agent_sdk/types.py"}
"""The official package uses this name, and programs import it."""


def test_every_module_has_a_docstring():
    assert [name_of(path) for path in modules() if not (ast.get_docstring(tree_of(path)) or "").strip()] == []


def test_no_file_or_folder_has_a_generic_name():
    python = [path for path in files() if path.suffix == ".py"]
    empty = {name_of(path) for path in python if EMPTY_NAMES & {path.stem, path.parent.name}}
    assert empty == NAMED_BY_OTHERS
