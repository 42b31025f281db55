"""What the session functions of a package return for the same folder: `python sessions.py claude_agent_sdk`.

The folder is written below the working directory. Titles and prompts have no double spaces: those differ on purpose.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

PROJECT = Path.cwd() / "project"
PROJECTS = Path.cwd() / "config" / "projects"
START = 1_700_000_000


def sid(number: int) -> str:
    """A UUID."""
    return f"00000000-0000-4000-8000-{number:012d}"


def entry(
    kind: str, session: int, number: int, content: Any, parent: int | None = None, **fields: Any
) -> dict[str, Any]:
    """A message of a transcript."""
    blocks = content if kind == "user" or isinstance(content, list) else [{"type": "text", "text": content}]
    message: dict[str, Any] = {"role": kind, "content": blocks}
    if kind == "assistant":
        message |= {"id": fields.pop("id", f"m{number}"), "model": "m"}
    return {
        "type": kind,
        "uuid": sid(session * 100 + number),
        "parentUuid": None if parent is None else sid(session * 100 + parent),
        "sessionId": sid(session),
        "cwd": "/project",
        "gitBranch": "main",
        "timestamp": f"2026-01-01T00:{session:02d}:{number:02d}.000Z",
        "isSidechain": False,
        "message": message,
        **fields,
    }


def note(kind: str, session: int, **fields: Any) -> dict[str, Any]:
    """An entry that is not part of the conversation."""
    return {"type": kind, **fields, "sessionId": sid(session)}


def talk(session: int, *notes: dict[str, Any]) -> list[dict[str, Any]]:
    """A prompt, an answer and some notes."""
    return [entry("user", session, 1, f"prompt {session}"), entry("assistant", session, 2, "hi", 1), *notes]


def call(id: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]


def outcome(id: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id, "content": "out"}]


SESSIONS: dict[int, list[dict[str, Any]]] = {
    1: talk(1),
    2: talk(2, note("custom-title", 2, customTitle="Given")),
    3: talk(3, note("ai-title", 3, aiTitle="Made"), note("last-prompt", 3, lastPrompt="last 3")),
    4: talk(4, note("summary", 4, summary="Short"), note("tag", 4, tag="work")),
    5: talk(5, note("last-prompt", 5, lastPrompt="last 5"), note("tag", 5, tag="work"), note("tag", 5, tag="")),
    6: [entry("user", 6, 1, "<command-name>/init</command-name>"), entry("assistant", 6, 2, "hi", 1)],
    7: [
        entry("user", 7, 1, "Caveat", isMeta=True),
        entry("user", 7, 2, "two calls", 1),
        entry("assistant", 7, 3, call("t1"), 2, id="mA"),
        entry("assistant", 7, 4, call("t2"), 3, id="mA"),
        entry("user", 7, 5, outcome("t1"), 3),
        entry("user", 7, 6, outcome("t2"), 4),
        entry("assistant", 7, 7, "done", 6),
    ],
    8: [entry("user", 8, 1, "sidechain", isSidechain=True)],
    9: [note("queue-operation", 9)],
    10: talk(10, note("custom-title", 10, customTitle="Given"), note("ai-title", 10, aiTitle="Made")),
    11: [*talk(11), entry("user", 11, 3, "again", 1), entry("assistant", 11, 4, "two", 3)],
    12: [
        *talk(12),
        {"type": "system", "subtype": "compact_boundary", "uuid": sid(1203), "sessionId": sid(12), "parentUuid": None}
        | {"logicalParentUuid": sid(1202)},
        entry("user", 12, 4, "The summary so far", 3, isCompactSummary=True),
        entry("assistant", 12, 5, "after", 4),
    ],
}
SUBAGENTS = {"abc": (51, {"toolUseId": "t1"}), "deep/def": (61, {"toolUseId": "t9", "parentAgentId": "abc"})}


def write(path: Path, entries: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item, separators=(",", ":")) + "\n" for item in entries))


def prepare(folder: Path) -> None:
    """Write the transcripts, each a second newer than the one before."""
    for number, entries in SESSIONS.items():
        path = folder / f"{sid(number)}.jsonl"
        write(path, entries)
        os.utime(path, (START + number, START + number))
    for name, (number, meta) in SUBAGENTS.items():
        path = folder / sid(7) / "subagents" / f"{name}.jsonl"
        path = path.with_name(f"agent-{path.name}")
        write(path, [entry("user", 7, number, name, isSidechain=True, agentId=name)])
        path.with_suffix(".meta.json").write_text(json.dumps(meta))


def main(package: str) -> dict[str, Any]:
    os.environ["CLAUDE_CONFIG_DIR"] = str(PROJECTS.parent)
    sdk = importlib.import_module(package)
    PROJECT.mkdir()
    folder = PROJECTS / "".join(letter if letter.isalnum() else "-" for letter in str(PROJECT.resolve()))
    prepare(folder)
    write(PROJECTS / "-other" / f"{sid(20)}.jsonl", talk(20))
    os.utime(PROJECTS / "-other" / f"{sid(20)}.jsonl", (START, START))
    found: dict[str, Any] = {}

    def ask(name: str, *arguments: Any, **keywords: Any) -> Any:
        shown = ", ".join([*map(str, arguments), *(f"{key}={value}" for key, value in keywords.items())])
        try:
            value = getattr(sdk, name)(*arguments, **keywords)
        except Exception as error:
            value = [kind.__name__ for kind in (ValueError, FileNotFoundError) if isinstance(error, kind)]
        found[f"{name}({shown})".replace(str(PROJECT), "PROJECT")] = (
            [str(item) for item in value] if isinstance(value, list) else str(value)
        )
        return value

    project = str(PROJECT)
    ask("list_sessions", project)
    ask("list_sessions")
    ask("list_sessions", project, limit=2, offset=1)
    ask("list_sessions", project, limit=0)
    ask("list_sessions", str(PROJECT / "missing"))
    for number in (4, 8, 9, 20, 99):
        ask("get_session_info", sid(number), project)
        ask("get_session_messages", sid(number), project)
    for number in (1, 7, 11, 12):
        ask("get_session_messages", sid(number))
    ask("get_session_messages", sid(7), limit=2, offset=1)
    ask("list_subagents", sid(7))
    ask("list_subagents", sid(1))
    for agent in ("abc", "def", "missing"):
        ask("get_subagent_messages", sid(7), agent)
    for name, arguments in {"rename_session": [" New name "], "tag_session": [" home "]}.items():
        ask(name, sid(1), *arguments)
        ask(name, sid(1), " ")
        ask(name, sid(99), *arguments)
        ask(name, sid(99), " ")
        ask(name, "not-an-id", *arguments)
    ask("tag_session", sid(4), None)
    changed = [sdk.get_session_info(sid(number)) for number in (1, 4)]
    found["changed"] = [[info.summary, info.custom_title, info.tag] for info in changed]
    for name in ("get_session_info", "get_session_messages", "list_subagents"):
        ask(name, "not-an-id")
    for keywords in ({}, {"up_to_message_id": sid(702)}, {"title": "Other"}):
        made = sdk.fork_session(sid(7), **keywords)
        info = sdk.get_session_info(made.session_id)
        contents = [message.message["content"] for message in sdk.get_session_messages(made.session_id)]
        found[f"fork {keywords}"] = [info.summary, info.custom_title, contents]
    for arguments in ([sid(99)], ["not-an-id"], [sid(7), None, sid(999)]):
        ask("fork_session", *arguments)
    for session in (sid(7), sid(7), "not-an-id"):
        ask("delete_session", session)
    found["left"] = (folder / sid(7)).exists()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1]), indent=1))
