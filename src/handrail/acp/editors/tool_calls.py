"""Tool calls of the CLI as an editor shows them: kind, title, places, and the change that is proposed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from handrail.schema.acp.messages import Content, Diff, TextContent, ToolCallContent, ToolCallLocation, ToolKind
from handrail.schema.file_results import EditResult, WriteResult

__all__ = ["ShownCall", "output_of", "shown_call", "written_diff"]

Input = Mapping[str, Any]
LONGEST_TITLE: Final = 200
MOST_OUTPUT: Final = 32_000
"""Characters of a tool's output that are sent to the editor; the middle of a longer one is left out."""


class ShownCall(Struct, frozen=True):
    """What an editor shows of a tool call before it runs."""

    title: str
    kind: ToolKind = "other"
    locations: list[ToolCallLocation] = []
    content: list[ToolCallContent] = []


def shown_call(tool: str, given: Input, cwd: str) -> ShownCall:
    """How to show a call of a tool."""
    show = _TOOLS.get(tool)
    shown = show(given, cwd) if show is not None else ShownCall(_of_mcp(tool) or tool)
    title = " ".join(shown.title.split()) or tool
    return ShownCall(
        title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…",
        shown.kind,
        shown.locations,
        shown.content,
    )


def output_of(text: str) -> list[ToolCallContent]:
    """The output of a tool, shortened in its middle if it is very long."""
    if not text.strip():
        return []
    if len(text) > MOST_OUTPUT:
        half = MOST_OUTPUT // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters are left out …\n{text[-half:]}"
    return _note(text)


def written_diff(result: object) -> list[ToolCallContent]:
    """The change that a tool made to a file; empty for other results."""
    if isinstance(result, EditResult) and result.original_file is not None:
        return [Diff(path=result.file_path, old_text=result.old_string, new_text=result.new_string)]
    if isinstance(result, WriteResult):
        return [Diff(path=result.file_path, old_text=result.original_file, new_text=result.content)]
    return []


def _note(text: str) -> list[ToolCallContent]:
    return [Content(content=TextContent(text=text))] if text else []


def _text(given: Input, name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _short(path: str, cwd: str) -> str:
    """A path below the working folder without that folder."""
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd else path


def _place(given: Input, name: str, cwd: str, line: Any = None) -> list[ToolCallLocation]:
    path = _text(given, name)
    at = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
    return [ToolCallLocation(path=os.path.join(cwd, path), line=at)] if path else []


def _read(given: Input, cwd: str) -> ShownCall:
    places = _place(given, "file_path", cwd, given.get("offset"))
    return ShownCall(f"Read {_short(_text(given, 'file_path'), cwd)}", "read", places)


def _edit(given: Input, cwd: str) -> ShownCall:
    path = os.path.join(cwd, _text(given, "file_path"))
    diff = Diff(path=path, old_text=_text(given, "old_string"), new_text=_text(given, "new_string"))
    return ShownCall(f"Edit {_short(_text(given, 'file_path'), cwd)}", "edit", _place(given, "file_path", cwd), [diff])


def _write(given: Input, cwd: str) -> ShownCall:
    path = os.path.join(cwd, _text(given, "file_path"))
    diff = Diff(path=path, new_text=_text(given, "content"))
    return ShownCall(f"Write {_short(_text(given, 'file_path'), cwd)}", "edit", _place(given, "file_path", cwd), [diff])


def _notebook(given: Input, cwd: str) -> ShownCall:
    path = os.path.join(cwd, _text(given, "notebook_path"))
    diff = Diff(path=path, new_text=_text(given, "new_source"))
    places = _place(given, "notebook_path", cwd)
    return ShownCall(f"Edit {_short(_text(given, 'notebook_path'), cwd)}", "edit", places, [diff])


def _bash(given: Input, _cwd: str) -> ShownCall:
    return ShownCall(f"`{_text(given, 'command')}`", "execute", content=_note(_text(given, "description")))


def _search(verb: str) -> Callable[[Input, str], ShownCall]:
    def show(given: Input, cwd: str) -> ShownCall:
        where = _text(given, "path")
        title = f"{verb} {_text(given, 'pattern')}" + (f" in {_short(where, cwd)}" if where else "")
        return ShownCall(title, "search", _place(given, "path", cwd))

    return show


def _named(verb: str, field: str, kind: ToolKind) -> Callable[[Input, str], ShownCall]:
    return lambda given, _: ShownCall(f"{verb} {_text(given, field)}", kind)


def _plan(given: Input, _cwd: str) -> ShownCall:
    return ShownCall("Ready to start?", "switch_mode", content=_note(_text(given, "plan")))


def _subagent(given: Input, _cwd: str) -> ShownCall:
    title = _text(given, "description") or "Start a subagent"
    return ShownCall(title, "think", content=_note(_text(given, "prompt")))


def _of_mcp(tool: str) -> str:
    """`mcp__server__tool` as a person would say it."""
    parts = tool.split("__")
    return f"{parts[2]} ({parts[1]})" if len(parts) == 3 and parts[0] == "mcp" else ""


_TOOLS: Final[Mapping[str, Callable[[Input, str], ShownCall]]] = {
    "Read": _read,
    "Edit": _edit,
    "MultiEdit": _edit,
    "Write": _write,
    "NotebookEdit": _notebook,
    "Bash": _bash,
    "Grep": _search("Search for"),
    "Glob": _search("Find files"),
    "WebFetch": _named("Fetch", "url", "fetch"),
    "WebSearch": _named("Search the web for", "query", "fetch"),
    "Task": _subagent,
    "Agent": _subagent,
    "ExitPlanMode": _plan,
    "Skill": _named("Use the skill", "skill", "other"),
    "TodoWrite": lambda _given, _cwd: ShownCall("Update the plan", "think"),
    "TaskCreate": _named("Add to the plan:", "subject", "think"),
    "TaskUpdate": lambda _given, _cwd: ShownCall("Update the plan", "think"),
    "ToolSearch": _named("Search for tools:", "query", "search"),
    "TaskStop": lambda _given, _cwd: ShownCall("Stop a background task", "execute"),
    "AskUserQuestion": lambda _given, _cwd: ShownCall("Ask a question", "think"),
}
