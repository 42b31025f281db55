"""The names, signatures, fields, defaults and values of the shim are those of the official package.

`peers/facts.json` is made from the official package by `peers/facts.py`; `make interop` checks that it is up to date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail import claude_agent_sdk
from handrail.claude_agent_sdk import types
from tests.claude_agent_sdk.peers.facts import facts_of

OFFICIAL: dict[str, Any] = json.loads((Path(__file__).parent / "peers" / "facts.json").read_text())
OURS = facts_of("handrail.claude_agent_sdk")

DIFFERENCES = {
    "errors also derive from HandrailError": (
        "ClaudeSDKError CLIConnectionError CLIJSONDecodeError CLINotFoundError ProcessError ResultError",
        lambda fact: fact.replace("HandrailError, ", ""),
    ),
    "ToolAnnotations needs neither pydantic nor the mcp package": (
        "ToolAnnotations",
        lambda fact: "" if fact.startswith(("class of", "model_dump")) else fact,
    ),
    "query returns an object with `other_messages` instead of a bare generator": (
        "query",
        lambda fact: fact.removeprefix("async generator ").removeprefix("def "),
    ),
}
"""The reason of each difference, the names it is about, and what both facts have in common."""


def without_differences(name: str, facts: list[str]) -> list[str]:
    for names, common in DIFFERENCES.values():
        if name in names.split():
            facts = [part for fact in facts if (part := common(fact))]
    return facts


@pytest.mark.parametrize("name", OFFICIAL["names"])
def test_exported_name(name: str):
    assert without_differences(name, OURS["names"][name]) == without_differences(name, OFFICIAL["names"][name])


@pytest.mark.parametrize("name", OFFICIAL["types"])
def test_name_of_types(name: str):
    assert OURS["types"][name] == OFFICIAL["types"][name]


@pytest.mark.parametrize("name", OFFICIAL["also in types"])
def test_exported_name_is_the_same_in_types(name: str):
    assert getattr(types, name) is getattr(claude_agent_sdk, name)


def test_every_difference_is_one():
    for names, _ in DIFFERENCES.values():
        for name in names.split():
            assert OURS["names"][name] != OFFICIAL["names"][name]


def test_no_other_names_are_exported():
    assert set(claude_agent_sdk.__all__) == OFFICIAL["names"].keys()


def test_name_of_another_version_says_which_version_this_matches():
    said = r"'NameOfTomorrow': it matches claude_agent_sdk 0\.2\.182.*update Handrail"
    with pytest.raises(AttributeError, match=said):
        _ = claude_agent_sdk.NameOfTomorrow
    with pytest.raises(ImportError, match=said):
        from handrail.claude_agent_sdk import NameOfTomorrow  # noqa: F401
    assert not hasattr(claude_agent_sdk, "NameOfTomorrow")
