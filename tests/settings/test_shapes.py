"""What each known setting must look like."""

import json
from typing import Any

import pytest

from handrail.settings.json_tree import parse
from handrail.settings.shapes import MCP_SHAPES, SETTINGS_SHAPES, misfits


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ([], "the file must be an object"),
        ({"permissions": []}, "`permissions` must be an object"),
        ({"permissions": None}, "`permissions` must be an object"),
        ({"permissions": {"allow": "Bash"}}, "`permissions.allow` must be a list of rules"),
        ({"permissions": {"deny": ["Bash", 1]}}, "`permissions.deny` must be a list of rules"),
        ({"permissions": {"ask": {}}}, "`permissions.ask` must be a list of rules"),
        (
            {"permissions": {"additionalDirectories": [[]]}},
            "`permissions.additionalDirectories` must be a list of paths",
        ),
        ({"permissions": {"defaultMode": 1}}, "`permissions.defaultMode` must be the name of a mode"),
        ({"env": {"A": ["x"]}}, "`env` must be an object of texts"),
        ({"env": {"A": None}}, "`env` must be an object of texts"),
        ({"hooks": {"Stop": {}}}, "`hooks` must be an object of events"),
        ({"hooks": {"Stop": ["x"]}}, "`hooks` must be an object of events"),
        ({"hooks": []}, "`hooks` must be an object of events"),
        ({"mcpServers": {"a": "x"}}, "`mcpServers` must be an object of servers"),
        ({"enabledMcpjsonServers": "all"}, "`enabledMcpjsonServers` must be a list of names"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(value: Any, wrong: str):
    ((_, problem),) = misfits(parse(json.dumps(value)), SETTINGS_SHAPES)
    assert problem.startswith(wrong)


def test_valid_and_unknown_values_fit():
    good = {
        "permissions": {"allow": ["Read"], "deny": [], "defaultMode": "plan", "additionalDirectories": ["../x"]},
        "env": {"A": "x", "B": 1, "C": True},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
        "mcpServers": {"a": {"command": "x"}},
        "tomorrow": [{"anything": None}],
    }
    assert misfits(parse(json.dumps(good)), SETTINGS_SHAPES) == []


def test_a_file_of_mcp_servers_is_held_to_that_alone():
    tree = parse('{"mcpServers": [], "permissions": 1}')
    assert [text for _, text in misfits(tree, MCP_SHAPES)] == [
        "`mcpServers` must be an object of servers, each an object"
    ]


def test_a_folder_with_a_nul_in_its_name_does_not_fit():
    tree = parse('{"permissions": {"additionalDirectories": ["/a", "b\\u0000"]}}')
    assert [text for _, text in misfits(tree, SETTINGS_SHAPES)] == [
        "`permissions.additionalDirectories` must be a list of paths in quotes"
    ]
