"""Every path case is decided as it must be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from handrail.files.resolve import Disk
from handrail.permissions.circumstances import Circumstances, Decision
from handrail.permissions.decide import decide
from handrail.permissions.rules.rule import Behavior, read_rules
from tests.permissions.path_layout import Layout, build_layout

CORPUS = Path(__file__).parent / "corpus"
CASES = [
    json.loads(line)
    for name in ("path.jsonl", "path_attacks.jsonl")
    for line in (CORPUS / name).read_text().splitlines()
]


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return build_layout(tmp_path_factory.mktemp("layout"))


def decided(case: dict[str, Any], layout: Layout) -> Decision:
    rules = [
        rule
        for behavior in get_args(Behavior)
        for rule in read_rules([layout.path(text) for text in case[behavior]], behavior, "userSettings")
    ]
    circumstances = Circumstances(
        anchors=layout.anchors,
        mode=case["mode"],
        rules=tuple(rules),
        bypass_available=case["mode"] == "bypassPermissions",
    )
    field = "notebook_path" if case["tool"] == "NotebookEdit" else "file_path"
    return decide(case["tool"], {field: layout.path(case["path"])}, circumstances, Disk(layout.anchors))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['path']!a}")
def test_a_case_is_decided_as_it_must_be(case: dict[str, Any], layout: Layout):
    assert decided(case, layout).behavior == case["expect"]
