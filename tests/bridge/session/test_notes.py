"""What a line of the CLI about itself changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.bridge.session.notes import Noted, note
from handrail.bridge.store.index_base import SessionRecord
from handrail.protocol import Message

RECORD = SessionRecord(id="s", cwd="/work", created=0, changed=0, model="m")


def noted(subtype: str, **line: Any) -> Noted:
    return note(Message(json.dumps(line).encode(), "system", subtype), RECORD)


def test_init_tells_the_conversation_the_model_and_the_mode_where_they_are_others():
    found = noted("init", session_id="c", model="m", permissionMode="plan")
    assert found == Noted({"conversation": "c", "mode": "plan"})


def test_status_tells_of_compaction_and_of_the_mode():
    assert noted("status", status="compacting") == Noted(compacting=True)
    assert noted("status", status=None, permissionMode="plan") == Noted({"mode": "plan"}, compacting=False)


def test_background_tasks_are_noted():
    assert noted("background_tasks_changed", tasks=[{}]) == Noted(tasks=True)
    assert noted("background_tasks_changed", tasks=[]) == Noted(tasks=False)


@pytest.mark.parametrize("subtype", ["init", "status", "later"])
def test_fields_of_another_kind_change_nothing(subtype: str):
    assert noted(subtype, session_id=7, model=[], permissionMode={}).fields == {}
    assert note(Message(b"no json", "system", subtype), RECORD) == Noted()
