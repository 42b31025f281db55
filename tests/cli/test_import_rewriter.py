"""The change of imports: what is replaced, what stays, and that everything else is unchanged byte for byte."""

from __future__ import annotations

import ast

import pytest

from handrail.cli.import_rewriter import SourceError, rewrite

CASES = {
    "from": ("from claude_agent_sdk import query", "from handrail.claude_agent_sdk import query"),
    "from types": ("from claude_agent_sdk.types import X", "from handrail.claude_agent_sdk.types import X"),
    "from star": ("from claude_agent_sdk import *", "from handrail.claude_agent_sdk import *"),
    "spaces": (
        "from  claude_agent_sdk . types\timport  X as  Y",
        "from  handrail.claude_agent_sdk . types\timport  X as  Y",
    ),
    "parentheses": (
        "from claude_agent_sdk import (  # why\n    query,  # claude_agent_sdk\n    tool as t,\n)",
        "from handrail.claude_agent_sdk import (  # why\n    query,  # claude_agent_sdk\n    tool as t,\n)",
    ),
    "continued line": (
        "from \\\n  claude_agent_sdk \\\n  import query",
        "from \\\n  handrail.claude_agent_sdk \\\n  import query",
    ),
    "plain": (
        "import claude_agent_sdk\nclaude_agent_sdk.query",
        "import handrail.claude_agent_sdk as claude_agent_sdk\nclaude_agent_sdk.query",
    ),
    "as": ("import claude_agent_sdk as sdk", "import handrail.claude_agent_sdk as sdk"),
    "submodule": (
        "import claude_agent_sdk.types\nclaude_agent_sdk.types",
        "import handrail.claude_agent_sdk as claude_agent_sdk, handrail.claude_agent_sdk.types\nclaude_agent_sdk.types",
    ),
    "submodule as": ("import claude_agent_sdk.types as t", "import handrail.claude_agent_sdk.types as t"),
    "several": (
        "import os, claude_agent_sdk, sys, claude_agent_sdk as c",
        "import os, handrail.claude_agent_sdk as claude_agent_sdk, sys, handrail.claude_agent_sdk as c",
    ),
    "semicolons": (
        "é = 'ü'; import claude_agent_sdk as c; from claude_agent_sdk import tool",
        "é = 'ü'; import handrail.claude_agent_sdk as c; from handrail.claude_agent_sdk import tool",
    ),
    "type checking": (
        "if TYPE_CHECKING:\n\tfrom claude_agent_sdk import X\n",
        "if TYPE_CHECKING:\n\tfrom handrail.claude_agent_sdk import X\n",
    ),
    "try": (
        "try:\n\timport claude_agent_sdk as c\nexcept ImportError: c = None",
        "try:\n\timport handrail.claude_agent_sdk as c\nexcept ImportError: c = None",
    ),
    "function": (
        "def f():\n  '''claude_agent_sdk is great'''\n  from claude_agent_sdk import X; return X",
        "def f():\n  '''claude_agent_sdk is great'''\n  from handrail.claude_agent_sdk import X; return X",
    ),
    "windows lines": (
        "import os\r\n\r\nfrom claude_agent_sdk import (\r\n\tquery,\r\n)\r\n",
        "import os\r\n\r\nfrom handrail.claude_agent_sdk import (\r\n\tquery,\r\n)\r\n",
    ),
    "old mac lines": ("x = 1\rimport claude_agent_sdk as c\r", "x = 1\rimport handrail.claude_agent_sdk as c\r"),
    "form feed": (
        "x = 1\n\x0c\nfrom claude_agent_sdk import X\n",
        "x = 1\n\x0c\nfrom handrail.claude_agent_sdk import X\n",
    ),
    "odd line ends in text": (
        "x = 'a\u2028b\x85'\nfrom claude_agent_sdk import X\n",
        "x = 'a\u2028b\x85'\nfrom handrail.claude_agent_sdk import X\n",
    ),
    "dunder": ("from claude_agent_sdk import __version__", "from handrail.claude_agent_sdk import __version__"),
}

UNCHANGED = {
    "relative": "from .claude_agent_sdk import query",
    "similar name": "import claude_agent_sdk_extras\nfrom claude_agent_sdkx import y",
    "inside another package": "from vendor.claude_agent_sdk import query\nimport vendor.claude_agent_sdk",
    "migrated": "from handrail.claude_agent_sdk import query\nimport handrail.claude_agent_sdk as claude_agent_sdk",
    "annotation as text": "def f(x: 'claude_agent_sdk.query | None'): ...",
    "comment": "# from claude_agent_sdk import query",
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_only_the_name_is_replaced(before: str, after: str):
    result = rewrite(before.encode())
    assert (result.source.decode(), result.notes) == (after, [])
    ast.parse(result.source)
    assert rewrite(result.source).source == result.source


@pytest.mark.parametrize("source", UNCHANGED.values(), ids=UNCHANGED)
def test_other_names_stay(source: str):
    assert rewrite(source.encode()) == (source.encode(), [])


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"# -*- coding: latin-1 -*-\n", "latin-1"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n", "cp1252"),
        (b"# coding: shift_jis\n", "shift_jis"),
    ],
)
def test_encoding_and_byte_order_mark_stay(head: bytes, encoding: str):
    words = "ソ表" if encoding == "shift_jis" else "é"
    before = head + f"x = '{words}'; from claude_agent_sdk import query  # {words}\n".encode(encoding)
    after = head + f"x = '{words}'; from handrail.claude_agent_sdk import query  # {words}\n".encode(encoding)
    assert rewrite(before).source == after


@pytest.mark.parametrize(
    ("source", "line", "name"),
    [
        ("\nfrom claude_agent_sdk._internal.query import Query", 2, "claude_agent_sdk._internal.query"),
        ("import claude_agent_sdk._internal", 1, "claude_agent_sdk._internal"),
        ("import claude_agent_sdk._internal.client as c", 1, "claude_agent_sdk._internal.client"),
        ("from claude_agent_sdk import query, _internal", 1, "claude_agent_sdk._internal"),
        ("from claude_agent_sdk.client import ClaudeSDKClient", 1, "claude_agent_sdk.client"),
    ],
)
def test_private_import_is_reported_and_left(source: str, line: int, name: str):
    result = rewrite(source.encode())
    assert result.source == source.encode()
    assert result.notes == [(line, f"{name} has no counterpart in handrail.claude_agent_sdk; it was left as it is")]


def test_private_attribute_is_reported():
    result = rewrite(b"import claude_agent_sdk\nclaude_agent_sdk._version\nclaude_agent_sdk.__version__\n")
    assert [note.line for note in result.notes] == [2]


def test_module_name_in_a_text_is_reported():
    result = rewrite(b"import importlib\nimportlib.import_module('claude_agent_sdk.types')\n")
    assert result.notes == [(2, "the text 'claude_agent_sdk.types' names the module and was left as it is")]


@pytest.mark.parametrize(
    ("source", "line", "problem"),
    [
        (b"x = 1\nfrom claude_agent_sdk import (\n", 2, "was never closed"),
        (b"print 'claude_agent_sdk'\n", 1, "Missing parentheses"),
        (b"import claude_agent_sdk\x00\n", 0, "null bytes"),
        (b"# coding: no-such-codec\nimport claude_agent_sdk\n", 0, "unknown encoding"),
        (b"x = '\xff'\nimport claude_agent_sdk\n", 0, "cannot be decoded"),
        (b"import claude_agent_sdk\nx = " + b"(" * 5000 + b")" * 5000, 2, "cannot be parsed"),
    ],
)
def test_source_that_cannot_be_read_is_an_error_with_its_line(source: bytes, line: int, problem: str):
    with pytest.raises(SourceError, match=problem) as raised:
        rewrite(source)
    assert raised.value.line == line
