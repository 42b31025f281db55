"""The permission modes: one table of mode × class of tool, for calls that no rule decides.

`inside` allows calls within the working folders, `reads` calls that only read, `files` also plain work on files in the
working folders. `confirm` asks even if a rule allows the call.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["CLASSES", "MODES", "Passes", "ToolClass", "class_of", "effective_mode", "passes"]

ToolClass = Literal["read", "edit", "execute", "fetch", "search", "skill", "interact", "internal", "mcp", "unknown"]
Passes = Literal["allow", "inside", "reads", "files", "ask", "confirm"]

CLASSES: Final[dict[str, ToolClass]] = {
    **dict.fromkeys(("Read", "Glob", "Grep", "LS", "NotebookRead"), "read"),
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Bash", "Monitor"), "execute"),
    "WebFetch": "fetch",
    "WebSearch": "search",
    **dict.fromkeys(("Skill", "SlashCommand"), "skill"),
    **dict.fromkeys(("AskUserQuestion", "ExitPlanMode"), "interact"),
    **dict.fromkeys(
        "Task Agent TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet TaskOutput TaskStop BashOutput"
        " KillShell KillBash SendMessage EnterWorktree ExitWorktree"
        " EnterPlanMode StructuredOutput ToolSearch ListMcpResources ListMcpResourcesTool ReadMcpResource"
        " ReadMcpResourceTool".split(),
        "internal",
    ),
}
_COLUMNS: Final[tuple[ToolClass, ...]] = (
    "read", "edit", "execute", "fetch", "search", "skill", "interact", "internal", "mcp", "unknown",
)  # fmt: skip
_DEFAULT: Final[tuple[Passes, ...]] = ("inside", "ask", "reads", "ask", "ask", "ask", "ask", "allow", "ask", "ask")
_ROWS: Final[dict[str, tuple[Passes, ...]]] = {
    "default": _DEFAULT,
    "manual": _DEFAULT,
    "delegate": _DEFAULT,
    "auto": _DEFAULT,
    "dontAsk": _DEFAULT,
    "acceptEdits": ("inside", "inside", "files", "ask", "allow", "allow", "ask", "allow", "ask", "ask"),
    "plan": ("inside", "confirm", "reads", "ask", "ask", "ask", "ask", "allow", "confirm", "ask"),
    "bypassPermissions": ("allow", "allow", "allow", "allow", "allow", "allow", "ask", "allow", "allow", "allow"),
}
MODES: Final[dict[str, dict[ToolClass, Passes]]] = {
    mode: dict(zip(_COLUMNS, row, strict=True)) for mode, row in _ROWS.items()
}


def class_of(tool: str) -> ToolClass:
    """The class of a tool. Tools of MCP servers are one class, unknown tools another."""
    return CLASSES.get(tool) or ("mcp" if tool.startswith("mcp__") else "unknown")


def effective_mode(mode: str, *, bypass_available: bool) -> str:
    """The row that applies. Bypassing must be available; plan mode then asks no questions either."""
    if bypass_available and mode in ("bypassPermissions", "plan"):
        return "bypassPermissions"
    return mode if mode in MODES and mode != "bypassPermissions" else "default"


def passes(mode: str, tool: str) -> Passes:
    """The decision of an effective mode about a tool without a rule."""
    return MODES[mode][class_of(tool)]
