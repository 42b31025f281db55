"""The names of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import handrail.schema
from handrail.schema import content, hooks


def test_every_public_name_of_the_modules_is_here_once():
    names = dir(handrail.schema)
    assert (len(names), names) == (len(set(names)), sorted(names))
    assert handrail.schema.__all__ == names  # pyright: ignore[reportAttributeAccessIssue]
    assert all(hasattr(handrail.schema, name) for name in names)
    assert {"TextBlock", "read_message", "HookOutput", "read_tool_result", "PermissionUpdate"} <= set(names)


def test_a_name_is_that_of_its_module():
    assert handrail.schema.TextBlock is content.TextBlock
    assert handrail.schema.hooks is hooks


@pytest.mark.parametrize("name", ["nope", "_decoders"])
def test_a_name_that_is_not_public_is_not_here(name: str):
    with pytest.raises(AttributeError, match=f"module 'handrail.schema' has no attribute '{name}'"):
        getattr(handrail.schema, name)


def test_importing_the_package_imports_none_of_its_modules():
    code = "import sys, handrail.schema; print([m for m in sys.modules if m.startswith('handrail.schema.')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
