"""Tool calls of an ACP agent as calls of the tools that hosts can draw, with their results.

An agent describes a call by its kind, its title, the files it concerns, and its input, whose form differs between
agents. A diff becomes Edit or Write, a command Bash, and so on. A call that fits no tool keeps its own name and input.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from msgspec import Struct, field

from handrail.agent.blocks import text_block
from handrail.agent.patch import structured_patch
from handrail.permissions.modes import class_of
from handrail.schema.acp import messages as acp
from handrail.schema.tool_results import TOOL_RESULTS

__all__ = ["Call", "Tool", "ToolResult", "plan_call"]

JsonObject = dict[str, Any]
MOST_OUTPUT: Final = 1024 * 1024
"""Characters of a result; the middle of a longer one is left out."""
LONGEST_NAME: Final = 64
_PATHS: Final = ("file_path", "path", "abs_path", "absolute_path", "filePath", "filepath", "filename", "notebook_path")
_OLD: Final = ("old_string", "oldString", "old_str", "oldText")
_NEW: Final = ("new_string", "newString", "new_str", "newText")
_WORD: Final = re.compile(r"[A-Za-z]\w{0,63}")
_OUTPUTS: Final = ("formatted_output", "aggregated_output", "stdout", "output", "result", "text", "content")
_EXITS: Final = ("exit_code", "exitCode", "exit")
_ADDRESS: Final = re.compile(r"https?://[^\s)>\"'`]+")
_OF_KIND: Final = {"execute": "execute", "edit": "edit", "delete": "edit", "move": "edit"}
"""Kinds that change something, and the class of the tools that may stand for them."""


class Tool(Struct, frozen=True):
    """A tool that hosts know, with its input."""

    name: str
    input: JsonObject
    is_exact: bool = True
    """Whether the input is what the agent will use, and not only what its title says."""


class ToolResult(Struct, frozen=True):
    """The result of a call: its content, its structured form, and whether it is an error."""

    content: str | list[JsonObject]
    structured: Any
    is_error: bool = False


class Call(Struct):
    """One call, as the updates so far describe it."""

    id: str
    title: str = ""
    name: str = ""
    first_title: str = ""
    kind: str = "other"
    status: str = "pending"
    content: list[acp.ToolCallContent] = field(default_factory=list[acp.ToolCallContent])
    locations: list[acp.ToolCallLocation] = field(default_factory=list[acp.ToolCallLocation])
    raw_input: Any = None
    raw_output: Any = None
    tool: str = ""
    """The tool it was announced as; "" before that."""
    input: JsonObject = field(default_factory=dict[str, Any])
    is_exact: bool = True
    """Whether its input is what the agent will use."""
    denied: str = ""
    """Why it was not allowed."""
    ended: bool = False

    def take(self, update: acp.ToolCall | acp.ToolCallUpdate) -> None:
        """Take what an update says about it; other properties stay."""
        self.title = update.title or self.title
        self.first_title = self.first_title or self.title
        self.name = update.name or _vendor_name(update.meta) or self.name
        # Some agents ask about a call of a known kind with the kind `other`.
        self.kind = update.kind if update.kind not in (None, "other") else self.kind
        self.status = update.status or self.status
        self.content = self.content if update.content is None else update.content
        self.locations = self.locations if update.locations is None else update.locations
        self.raw_input = self.raw_input if update.raw_input is None else update.raw_input
        self.raw_output = self.raw_output if update.raw_output is None else update.raw_output

    @property
    def fields(self) -> JsonObject:
        """The agent's own input, if it is an object."""
        given: Any = self.raw_input
        return cast("JsonObject", given) if isinstance(given, dict) else {}

    def is_described(self, cwd: str) -> bool:
        """Whether its input is known, or it runs already. Some agents announce a call with a part of its input."""
        return self.status != "pending" or bool(self.content) or _tool(self, cwd).is_exact

    def announce(self, cwd: str) -> None:
        """Decide which tool it is."""
        tool = _tool(self, cwd)
        self.tool, self.input, self.is_exact = tool.name, tool.input, tool.is_exact

    def asked_tools(self, cwd: str) -> list[Tool]:
        """The tools that a permission request for this call is about, one for each file.

        The request may describe the call better than its announcement did, or not at all.
        """
        diffs = [part for part in self.content if isinstance(part, acp.Diff)]
        if len({diff.path for diff in diffs}) > 1:
            return [_changed(diff, cwd) for diff in diffs]
        if self.kind == "read" and len(self.locations) > 1 and not _named_path(self.fields):
            return [Tool("Read", {"file_path": _absolute(place.path, cwd)}) for place in self.locations]
        now = _tool(self, cwd)
        return [now if now.is_exact else Tool(self.tool, self.input, self.is_exact)]

    def result(self) -> ToolResult:
        """Its result, or the reason why it was denied."""
        if self.denied:
            return ToolResult(self.denied, f"Error: {self.denied}", is_error=True)
        text = _shortened(self._output())
        if self.status == "failed" or (self.tool == "Bash" and _exit_code(self.raw_output)):
            return ToolResult(text or "The call failed.", f"Error: {text or 'the call failed'}", is_error=True)
        structure = _STRUCTURES.get(self.tool)
        pictures = [picture for part in self.content if (picture := _picture(part))]
        content = [*([text_block(text)] if text else []), *pictures] if pictures else text
        return ToolResult(content, structure(self, text) if structure else text)

    def _output(self) -> str:
        """The output: as the agent's tool gave it, else as the agent describes it for people."""
        raw = _plain_text(self.raw_output)
        shown = "\n".join(text for part in self.content if (text := _content_text(part)))
        if raw or shown:
            return raw or shown
        return "" if self.raw_output is None else json.dumps(self.raw_output, ensure_ascii=False)


def plan_call(id: str, entries: list[acp.PlanEntry], before: list[JsonObject]) -> tuple[Call, ToolResult]:
    """A plan as a call of TodoWrite with its result. `before`: the todos of the plan so far."""
    todos = [{"content": entry.content, "status": entry.status, "activeForm": entry.content} for entry in entries]
    call = Call(id, tool="TodoWrite", input={"todos": todos}, status="completed", ended=True)
    return call, ToolResult("The plan was updated.", {"oldTodos": before, "newTodos": todos})


# The tool of a call


def _tool(call: Call, cwd: str) -> Tool:
    if (own := _own_tool(call)) is not None:
        return own
    raw = call.fields
    for part in call.content:
        if isinstance(part, acp.Diff):
            return _changed(part, cwd)
    make = _BY_KIND.get(call.kind, _other)
    return make(call, raw, cwd) or _named(call, raw)


def _own_tool(call: Call) -> Tool | None:
    """The tool that the agent names itself, if hosts know it and it does what the call does."""
    if not call.fields or not (call.name in TOOL_RESULTS or call.name.startswith("mcp__")):
        return None
    needed = _OF_KIND.get(call.kind)
    if needed is not None and class_of(call.name) not in (needed, "mcp"):
        return None
    return Tool(call.name, call.fields)


def _changed(diff: acp.Diff, cwd: str) -> Tool:
    path = _absolute(diff.path, cwd)
    if not diff.old_text:
        return Tool("Write", {"file_path": path, "content": diff.new_text})
    return Tool("Edit", {"file_path": path, "old_string": diff.old_text, "new_string": diff.new_text})


def _execute(call: Call, raw: JsonObject, _cwd: str) -> Tool:
    command = raw.get("command") or raw.get("cmd")
    if isinstance(command, list):
        command = shlex.join(map(str, cast("list[Any]", command)))
    shown = call.title.strip().strip("`")
    text = command if isinstance(command, str) else shown
    described = {"description": shown} if shown and shown != text else {}
    return Tool("Bash", {"command": text, **described}, isinstance(command, str))


def _read(call: Call, raw: JsonObject, cwd: str) -> Tool | None:
    path = _path(call, raw, cwd)
    numbers = {name: raw[name] for name in ("offset", "limit") if isinstance(raw.get(name), int)}
    return Tool("Read", {"file_path": path, **numbers}) if path else None


def _edit(call: Call, raw: JsonObject, cwd: str) -> Tool | None:
    path = _path(call, raw, cwd)
    if not path:
        return None
    if isinstance(content := raw.get("content"), str):
        return Tool("Write", {"file_path": path, "content": content})
    return Tool("Edit", {"file_path": path, "old_string": _first(raw, _OLD), "new_string": _first(raw, _NEW)})


def _search(call: Call, raw: JsonObject, cwd: str) -> Tool:
    pattern = _first(raw, ("pattern", "query", "glob"))
    path = _path(call, raw, cwd)
    tool = "Glob" if "glob" in (call.name.lower(), call.first_title.lower()) else "Grep"
    return Tool(tool, {"pattern": pattern or call.title, **({"path": path} if path else {})}, bool(pattern))


def _fetch(call: Call, raw: JsonObject, _cwd: str) -> Tool | None:
    if query := _string(raw, "query"):
        return Tool("WebSearch", {"query": query})
    url = _string(raw, "url")
    found = _ADDRESS.search(url or call.title)
    return Tool("WebFetch", {"url": found[0], "prompt": call.title}, bool(url)) if found else None


def _file_action(tool: str) -> Callable[[Call, JsonObject, str], Tool]:
    def make(call: Call, raw: JsonObject, cwd: str) -> Tool:
        paths = [_absolute(place.path, cwd) for place in call.locations]
        return Tool(tool, {"title": call.title, "paths": paths, **raw}, bool(paths or raw))

    return make


def _switch(call: Call, raw: JsonObject, _cwd: str) -> Tool:
    plan = _string(raw, "plan") or "\n".join(filter(None, map(_content_text, call.content)))
    return Tool("ExitPlanMode", {"plan": plan}, bool(plan))


def _other(_call: Call, raw: JsonObject, _cwd: str) -> Tool | None:
    """A list of todos that an agent does not send as a plan."""
    todos = raw.get("todos")
    items = [cast("JsonObject", item) for item in cast("list[Any]", todos)] if isinstance(todos, list) else []
    if not items or not all(_is_todo(item) for item in items):
        return None
    return Tool("TodoWrite", {"todos": [{"activeForm": item["content"], **item} for item in items]})


_BY_KIND: Final[Mapping[str, Callable[[Call, JsonObject, str], Tool | None]]] = {
    "execute": _execute,
    "read": _read,
    "edit": _edit,
    "search": _search,
    "fetch": _fetch,
    "delete": _file_action("Delete"),
    "move": _file_action("Move"),
    "switch_mode": _switch,
}


def _named(call: Call, raw: JsonObject) -> Tool:
    """A call that fits no tool: with its own name, or its title."""
    # The first title of a call is often the name of the tool, and later ones say what this call does.
    hint = call.first_title if _WORD.fullmatch(call.first_title) else call.title
    name = re.sub(r"\W+", "_", call.name or hint).strip("_")[:LONGEST_NAME]
    if class_of(name) != "unknown":  # rules and modes would take it for another tool
        name = f"acp_{name}"
    given = raw or ({} if call.raw_input is None else {"input": call.raw_input})
    return Tool(name or "tool", given or {"title": call.title}, bool(raw))


def _path(call: Call, raw: JsonObject, cwd: str) -> str:
    path = _named_path(raw) or (call.locations[0].path if call.locations else "")
    return _absolute(path, cwd) if path else ""


def _named_path(raw: JsonObject) -> str:
    return _first(raw, _PATHS)


def _first(given: JsonObject, names: tuple[str, ...]) -> str:
    """The first of these fields that has a text; "" without one."""
    return next((text for name in names if (text := _string(given, name))), "")


def _is_todo(item: Any) -> bool:
    fields = cast("JsonObject", item) if isinstance(item, dict) else {}
    return bool(_string(fields, "content")) and fields.get("status") in ("pending", "in_progress", "completed")


def _absolute(path: str, cwd: str) -> str:
    return os.path.join(cwd, path)


def _vendor_name(meta: JsonObject | None) -> str:
    """The tool that agents of the Claude family name beside the fields of the protocol."""
    own: Any = (meta or {}).get("claudeCode")
    return _string(cast("JsonObject", own), "toolName") if isinstance(own, dict) else ""


def _string(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


# Its result


def _of_command(_call: Call, text: str) -> JsonObject:
    return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}


def _of_read(call: Call, text: str) -> JsonObject:
    if isinstance(call.raw_output, dict):  # the text for the model may have more than the file
        text = "\n".join(shown for part in call.content if (shown := _content_text(part))) or text
    lines = len(text.splitlines())
    start = call.input.get("offset", 1)
    file = {"filePath": call.input.get("file_path", ""), "content": text, "numLines": lines}
    return {"type": "text", "file": {**file, "startLine": start, "totalLines": lines}}


def _of_edit(call: Call, _text: str) -> JsonObject:
    diff = next((part for part in call.content if isinstance(part, acp.Diff)), None)
    old = diff.old_text or "" if diff else _string(call.input, "old_string")
    new = diff.new_text if diff else _string(call.input, "new_string")
    return {
        "filePath": diff.path if diff else call.input.get("file_path", ""),
        "oldString": old,
        "newString": new,
        "originalFile": None,
        "structuredPatch": structured_patch(old, new),
        "userModified": False,
        "replaceAll": False,
    }


def _of_write(call: Call, _text: str) -> JsonObject:
    diff = next((part for part in call.content if isinstance(part, acp.Diff)), None)
    old, content = diff.old_text if diff else None, _string(call.input, "content")
    return {
        "type": "create" if old is None else "update",
        "filePath": call.input.get("file_path", ""),
        "content": content,
        "structuredPatch": structured_patch(old or "", content) if old is not None else [],
        "originalFile": old,
    }


_STRUCTURES: Final[Mapping[str, Callable[[Call, str], Any]]] = {
    "Bash": _of_command,
    "Read": _of_read,
    "Edit": _of_edit,
    "Write": _of_write,
}


def _plain_text(raw: Any) -> str:
    """The text of an output in one of the common forms; "" for others."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, list):
        blocks = [cast("JsonObject", item) for item in cast("list[Any]", raw) if isinstance(item, dict)]
        return "\n".join(_string(block, "text") for block in blocks if block.get("type") == "text")
    if isinstance(raw, dict):
        fields = cast("JsonObject", raw)
        texts = [_string(fields, name) for name in _OUTPUTS]
        return next((text for text in texts if text), "") or _string(fields, "stderr")
    return ""


def _exit_code(raw: Any) -> int:
    """The exit code of a command in one of the common forms; 0 if it is missing."""
    fields = cast("JsonObject", raw) if isinstance(raw, dict) else {}
    more = fields.get("metadata")
    for given in (fields, cast("JsonObject", more) if isinstance(more, dict) else {}):
        for name in _EXITS:
            if isinstance(code := given.get(name), int):
                return code
    return 0


def _content_text(part: acp.ToolCallContent) -> str:
    if not isinstance(part, acp.Content):
        return ""
    match part.content:
        case acp.TextContent(text=text):
            return text
        case acp.ResourceLink(uri=uri):
            return uri
        case acp.EmbeddedResource(resource=resource) if isinstance(resource, dict):
            return _string(cast("JsonObject", resource), "text")
        case _:
            return ""


def _picture(part: acp.ToolCallContent) -> JsonObject | None:
    if not isinstance(part, acp.Content) or not isinstance(part.content, acp.ImageContent):
        return None
    source = {"type": "base64", "media_type": part.content.mime_type, "data": part.content.data}
    return {"type": "image", "source": source}


def _shortened(text: str) -> str:
    if len(text) <= MOST_OUTPUT:
        return text
    half = MOST_OUTPUT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters are left out …\n{text[-half:]}"
