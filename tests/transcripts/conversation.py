"""Builds transcripts like those of the CLI, as JSONL files in a projects folder."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

PROJECT = "-work-garden"
CWD = "/work/garden"


class Conversation:
    """A session file that grows line by line; each entry hangs from the one before unless told otherwise."""

    def __init__(self, home: Path, session_id: str | None = None, project: str = PROJECT) -> None:
        self.id = session_id or str(uuid.uuid4())
        self.path = home / "projects" / project / f"{self.id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch(mode=0o600)
        self.last: str | None = None
        self.count = 0

    def line(self, data: bytes) -> None:
        """Bytes as they are, for damage."""
        with self.path.open("ab") as stream:
            stream.write(data)

    def note(self, kind: str, **fields: Any) -> None:
        """A bookkeeping entry, without a uuid."""
        self.line(json.dumps({"type": kind, **fields, "sessionId": self.id}, separators=(",", ":")).encode() + b"\n")

    def entry(self, kind: str, *, parent: str | None = "", **fields: Any) -> str:
        """A chained entry; its uuid is returned."""
        self.count += 1
        name = f"00000000-0000-4000-8000-{self.count:012d}"
        entry = {
            "parentUuid": self.last if parent == "" else parent,
            "isSidechain": False,
            "type": kind,
            "uuid": name,
            "timestamp": f"2026-03-01T10:{self.count // 60:02d}:{self.count % 60:02d}.000Z",
            "cwd": CWD,
            "sessionId": self.id,
            "gitBranch": "main",
            **fields,
        }
        self.line(json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
        self.last = name
        return name

    def user(self, content: Any, **fields: Any) -> str:
        return self.entry("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: dict[str, Any] | str, message_id: str = "", **fields: Any) -> str:
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {"id": message_id or f"msg_{self.count}", "role": "assistant", "content": content}
        return self.entry("assistant", message=message, **fields)

    def call(self, name: str, message_id: str, **fields: Any) -> str:
        block = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}
        return self.assistant(block, message_id=message_id, **fields)

    def result(self, name: str, parent: str, text: str = "done") -> str:
        return self.user([{"type": "tool_result", "tool_use_id": name, "content": text}], parent=parent)
