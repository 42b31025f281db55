"""What is offered with a question: with its true breadth, and nothing that cannot be granted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.questions import Answer, Chosen, answered
from handrail.bridge.session.suggestions import DESTINATIONS, LONGEST, MOST, offered
from handrail.client.callbacks import PermissionRequest
from handrail.schema.view import read_view


def request(*suggestions: Any) -> PermissionRequest:
    body = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "permission_suggestions": list(suggestions)}
    return read_view(PermissionRequest, json.dumps(body).encode())


def rule(content: str | None, destination: str = "localSettings") -> dict[str, Any]:
    value = {"toolName": "Bash"} | ({"ruleContent": content} if content else {})
    return {"type": "addRules", "behavior": "allow", "destination": destination, "rules": [value]}


BYPASS = {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}
EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
DISGUISED = rule("ls\u200b")


def test_each_is_told_by_its_place_with_its_breadth_and_where_it_may_be_kept():
    shown = offered(request(rule("npm run *"), BYPASS, "no object", EDITS, DISGUISED, rule(None, "cliArg")))
    assert [(one["index"], one["suggested"]) for one in shown] == [(0, "localSettings"), (2, "session"), (4, "session")]
    assert shown[0]["words"] == "every command that begins with `npm run`"
    assert shown[1]["words"].endswith("without asking, in this session")
    assert shown[2]["words"] == "every command at all"
    assert [one["destinations"] for one in shown] == [list(DESTINATIONS), ["session"], list(DESTINATIONS)]


def test_an_older_hint_and_a_type_of_tomorrow_are_not_offered():
    assert offered(request({"behavior": "allow", "message": "why not"}, {"type": "tomorrow"})) == []


@pytest.mark.parametrize(
    ("index", "destination"), [(0, "session"), (1, "session"), (2, "userSettings"), (3, "session"), (-1, "session")]
)
def test_what_was_not_offered_cannot_be_chosen(index: int, destination: Any):
    asked = request(BYPASS, DISGUISED, EDITS)
    with pytest.raises(CommandRefused) as refused:
        answered(asked, Answer(behavior="allow", updates=[Chosen(index, destination)]))
    assert refused.value.code == "bad_answer"


def test_what_nobody_could_read_is_not_offered_nor_more_than_anybody_would():
    assert offered(request(rule("a;" * LONGEST))) == []
    assert len(offered(request(*[rule("ls")] * MOST * 2))) == MOST
