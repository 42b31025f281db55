"""Reads a folder of recordings with the codec and the schema. Prints counts; exits with 1 on failures.

    python tests/recordings/check.py DIR

A recording is a file of rows {"t", "dir", "msg"}. Every line must keep its bytes, every view must encode to the
line it was read from, and only lines that a recording sends on purpose may be unknown.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail.protocol.codec import decode
from handrail.protocol.frames import BadLine, Frame, Message, Request, Success
from handrail.schema import (
    AnswerView,
    AssistantMessage,
    Block,
    HookCallbackRequest,
    MessageView,
    PermissionAnswer,
    PermissionRequest,
    PermissionRequestInput,
    RequestView,
    StreamEvent,
    SystemMessage,
    UserMessage,
    View,
    as_builtins,
    read_answer,
    read_message,
    read_request,
    read_tool_result,
)

ON_PURPOSE: Mapping[str, str] = {
    "unknown message banana": "a type that nobody knows",
    "unknown message ": "a line without a type",
    "unknown message user (Object missing required field `message`)": "a prompt without a message",
    "unknown request totally_unknown": "a subtype that nobody knows",
    "unknown request set_model (Expected `str | null`, got `int` - at `$.model`)": "a value of the wrong type",
    "unknown request set_max_thinking_tokens (Expected `int | null`, got `str` - at `$.max_thinking_tokens`)": (
        "a value of the wrong type"
    ),
    "unknown answer can_use_tool (Object missing required field `behavior`)": "an answer in the wrong words",
    "bad line (not JSON)": "text that is no JSON, or JSON that is no object",
    "bad line (control_request)": "a request without a body or an id",
    "bad line (control_response)": "an answer without a body or an id",
}


class Recording:
    """One recording while it is read: what was asked under which id, and which tool has which id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kinds: Counter[str] = Counter()
        self.failures: list[str] = []
        self._asked: dict[tuple[str, str], str] = {}
        self._tools: dict[str, str] = {}

    def read(self) -> None:
        for number, row in enumerate(self.path.read_text().splitlines(), 1):
            entry = json.loads(row)
            for problem in self._read_line(entry["dir"], entry["msg"]):
                self.failures.append(f"{self.path.name}:{number}: {problem}")

    def _read_line(self, direction: str, value: Any) -> Iterator[str]:
        line = line_of(value)
        frame = decode(line)
        if frame.raw != line:
            yield "the frame does not keep the bytes of its line"
        value = value if isinstance(frame, BadLine) else json.loads(line)
        for kind, view, original in self._views(direction, frame, value):
            self.kinds[kind] += 1
            if kind.startswith(("unknown", "bad line")) and kind not in ON_PURPOSE:
                yield kind
            if view is not None and as_builtins(view) != original:
                yield f"{kind}: {as_builtins(view)!r} is not {original!r}"

    def _views(self, direction: str, frame: Frame, value: Any) -> Iterator[tuple[str, View | None, Any]]:
        if isinstance(frame, Message):
            yield from self._in_message(read_message(frame.type, frame.subtype, frame.raw), value)
        elif isinstance(frame, Request):
            self._asked[direction, frame.id] = frame.subtype
            yield from in_request(read_request(frame.subtype, frame.body), value["request"])
        elif isinstance(frame, Success):
            asker = {"in": "out", "out": "in"}[direction]
            subtype = self._asked.get((asker, frame.id))
            if subtype is not None:
                yield from in_answer(subtype, read_answer(subtype, frame.body), value["response"].get("response"))
        elif isinstance(frame, BadLine):
            reason = frame.reason.split()[0]
            yield f"bad line ({reason if reason.startswith('control_') else 'not JSON'})", None, None
        else:
            yield f"frame {type(frame).__name__}", None, None

    def _in_message(self, view: MessageView, value: Any) -> Iterator[tuple[str, View, Any]]:
        subtype = f"/{view.subtype}" if isinstance(view, SystemMessage) else ""
        yield name("message", view.type + subtype, view), view, value
        if isinstance(view, StreamEvent):
            yield f"event {view.event.type}", view, value
            if (block := view.event.block) is not None:
                yield name("block", block.type, block), block, value["event"]["content_block"]
        if isinstance(view, AssistantMessage | UserMessage) and isinstance(value["message"].get("content"), list):
            yield from in_blocks(view.content, value["message"]["content"])
        for block in view.tool_uses if isinstance(view, AssistantMessage) else ():
            self._tools[block.id] = block.name
        for block in view.tool_results if isinstance(view, UserMessage) and "tool_use_result" in value else ():
            tool = self._tools.get(block.tool_use_id, "")
            result = read_tool_result(tool, json.dumps(value["tool_use_result"]).encode())
            yield name("tool result", tool, result), result, value["tool_use_result"]


def line_of(value: Any) -> bytes:
    """The line as it was on the wire: rows keep what was no JSON object as text."""
    if isinstance(value, dict) and "__raw__" in value:
        return value["__raw__"].encode()
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def name(kind: str, what: str, view: View) -> str:
    if not type(view).__name__.startswith("Unknown"):
        return f"{kind} {what}"
    problem = getattr(view, "problem", "")
    return f"unknown {kind} {what}" + (f" ({problem})" if problem else "")


def in_blocks(blocks: Iterable[Block], values: Iterable[Any]) -> Iterator[tuple[str, View, Any]]:
    for block, value in zip(blocks, values, strict=True):
        yield name("block", block.type, block), block, value
        if isinstance(inner := value.get("content"), list):
            yield from in_blocks(getattr(block, "content", []), inner)


def in_request(view: RequestView, value: Any) -> Iterator[tuple[str, View, Any]]:
    yield name("request", view.subtype, view), view, value
    if isinstance(view, PermissionRequest):
        yield from in_suggestions(view.suggestions, value.get("permission_suggestions", []))
    if isinstance(view, HookCallbackRequest):
        yield name("hook", view.input.hook_event_name, view.input), view.input, value["input"]
        if isinstance(view.input, PermissionRequestInput):
            yield from in_suggestions(view.input.suggestions, value["input"]["permission_suggestions"])


def in_answer(subtype: str, view: AnswerView, value: Any) -> Iterator[tuple[str, View, Any]]:
    yield name("answer", subtype, view), view, value if value is not None else {}
    if isinstance(view, PermissionAnswer):
        yield from in_suggestions(view.updated_permissions, value.get("updatedPermissions") or [])


def in_suggestions(views: Iterable[Any], values: Iterable[Any]) -> Iterator[tuple[str, View, Any]]:
    for view, value in zip(views, values, strict=True):
        yield name("suggestion", view.type, view), view, value


def check(folder: Path) -> tuple[Counter[str], list[str]]:
    """Read all recordings of a folder. Returns counts by kind, and the failures."""
    kinds: Counter[str] = Counter()
    failures: list[str] = []
    for path in sorted(folder.glob("*.ndjson")):
        recording = Recording(path)
        recording.read()
        kinds += recording.kinds
        failures += recording.failures
    return kinds, failures


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not (folder := Path(arguments[0])).is_dir():
        print("usage: python tests/recordings/check.py DIR", file=sys.stderr)
        return 2
    kinds, failures = check(folder)
    for kind, count in sorted(kinds.items()):
        print(f"{count:6}  {kind}{'  (on purpose: ' + ON_PURPOSE[kind] + ')' if kind in ON_PURPOSE else ''}")
    print(*failures, sep="\n")
    print(f"{kinds.total()} views of {len(kinds)} kinds, {len(failures)} failures")
    return 1 if failures or not kinds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
