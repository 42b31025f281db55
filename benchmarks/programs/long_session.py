"""Writes a long session to a database. Arguments: database, folder, session id, number of messages.

The turns are realistic: a question, text, some tool calls with results, more text, the result.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from handrail.bridge.session.events import event
from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import NewEvent, SessionRecord
from handrail.bridge.store.database import Database

WORDS = (
    "The file contains **two** functions; `parse` splits each line at the first colon.\n\n"
    "1. Names come before it.\n2. Values come after it.\n\n```python\nname, _, value = line.partition(':')\n```\n"
)


def frame(text: str = "", **fields: Any) -> NewEvent:
    """A line of the CLI."""
    return NewEvent("frame", json.dumps(fields).encode(), text)


def turn(number: int) -> list[NewEvent]:
    """One turn: ten messages."""
    uuid, id = f"00000000-0000-4000-8000-{number:012d}", f"msg_{number}"

    def said(part: int, block: dict[str, Any]) -> NewEvent:
        message = {"id": f"{id}_{part}", "role": "assistant", "model": "m", "content": [block]}
        return frame(str(block.get("text", "")), type="assistant", message=message, uuid=f"{uuid}-{part}")

    def used(part: int, name: str, fields: dict[str, Any], result: str) -> list[NewEvent]:
        call = {"type": "tool_use", "id": f"toolu_{number}_{part}", "name": name, "input": fields}
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": result}
        back = frame(type="user", message={"role": "user", "content": [block]}, uuid=f"{uuid}-r{part}")
        return [said(part, call), back]

    return [
        event("said", uuid=uuid, content=f"Question {number}: what does it do?", by="bench"),
        event("handed", uuid=uuid),
        frame(type="system", subtype="init", model="m", permissionMode="default", tools=[]),
        said(1, {"type": "text", "text": f"Answer {number}: I look."}),
        *used(2, "Read", {"file_path": f"/project/src/part_{number}.py"}, "1\tdef parse(line):\n2\t    return line\n"),
        *used(3, "Bash", {"command": "pytest -q", "description": "Run the tests"}, "41 passed in 3.2s"),
        *used(4, "Grep", {"pattern": "parse", "path": "/project"}, "src/a.py:1:def parse"),
        said(5, {"type": "text", "text": f"{WORDS}\nThat was answer {number}."}),
        frame(type="result", subtype="success", is_error=False, total_cost_usd=number / 100, uuid=f"{uuid}-e"),
    ]


async def main() -> None:
    """Write the session, bypassing the server."""
    path, cwd, id, messages = sys.argv[1:]
    database = Database(Path(path), events.TABLES, index.TABLES)
    log, sessions = events.SqliteEventLog(database), index.SqliteSessionIndex(database)
    turns = int(messages) // 9
    all_events = [one for number in range(1, turns + 1) for one in turn(number)]
    record = SessionRecord(id=id, cwd=cwd, created=1, changed=1, state="hibernated", settled=len(all_events))
    await sessions.put(msgspec.structs.replace(record, conversation=id, title="A long session"))
    for start in range(0, len(all_events), 1000):
        await log.append(id, all_events[start : start + 1000])
    await database.close()
    print(json.dumps({"events": len(all_events), "turns": turns}))


asyncio.run(main())
