"""What each mode lets pass. In: a mode and a tool. Out: what happens where no rule says anything.

One table: mode × class of tool. `inside` lets pass what stays in the working folders, `reads` what only looks, and
`files` that and plain work on files in the working folders. `confirm` asks even for what a rule allows.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["CLASSES", "MODES", "Passes", "ToolClass", "class_of", "effective_mode", "passes"]

ToolClass = Literal["read", "edit", "execute", "fetch", "search", "skill", "interact", "internal", "mcp", "unknown"]
Passes = Literal["allow", "inside", "reads", "files", "ask", "confirm"]

CLASSES: Final[dict[str, ToolClass]] = {
    **dict.fromkeys(("Read", "Glob", "Grep", "LS", "NotebookRead"), "read"),
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit"), "edit"),
    "Bash": "execute",
    "WebFetch": "fetch",
    "WebSearch": "search",
    **dict.fromkeys(("Skill", "SlashCommand"), "skill"),
    **dict.fromkeys(("AskUserQuestion", "ExitPlanMode"), "interact"),
    **dict.fromkeys(
        "Task Agent TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet TaskOutput TaskStop BashOutput"
        " KillShell KillBash"
        " EnterPlanMode StructuredOutput ToolSearch ListMcpResources ListMcpResourcesTool".split(),
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
    "plan": ("inside", "confirm", "reads", "ask", "ask", "ask", "ask", "allow", "ask", "ask"),
    "bypassPermissions": ("allow", "allow", "allow", "allow", "allow", "allow", "ask", "allow", "allow", "allow"),
}
MODES: Final[dict[str, dict[ToolClass, Passes]]] = {
    mode: dict(zip(_COLUMNS, row, strict=True)) for mode, row in _ROWS.items()
}


def class_of(tool: str) -> ToolClass:
    """The class of a tool; servers' tools are one class, and what nobody knows another."""
    return CLASSES.get(tool) or ("mcp" if tool.startswith("mcp__") else "unknown")


def effective_mode(mode: str, *, bypass_available: bool) -> str:
    """The row that holds. To bypass must have been made possible; then a plan is made without questions too."""
    if bypass_available and mode in ("bypassPermissions", "plan"):
        return "bypassPermissions"
    return mode if mode in MODES and mode != "bypassPermissions" else "default"


def passes(mode: str, tool: str) -> Passes:
    """What a mode, as it holds, does with a tool for which there is no rule."""
    return MODES[mode][class_of(tool)]
