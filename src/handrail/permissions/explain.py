"""Explains decisions and rules in sentences for a person."""

from __future__ import annotations

from handrail.permissions.circumstances import Decision
from handrail.permissions.modes import class_of
from handrail.permissions.rules.rule import SourcedRule

__all__ = ["decision_in_words", "rule_in_words"]

_VERBS = {"allow": "lets pass without asking", "ask": "always asks about", "deny": "refuses"}
_FILE_TOOLS = {"Read": "reading", "Edit": "changing or creating", "Write": "writing", "NotebookEdit": "changing"}

_PLACES = (
    ("//", "from the top of the disk"),
    ("~/", "in your home folder"),
    ("/", "from the top of the project"),
    ("", "from the working folder"),
)


def decision_in_words(decision: Decision) -> list[str]:
    """Explain a decision: one line for each step, then the step that decided."""
    lines = [f"{step.subject}: {step.behavior}, {step.reason}" for step in decision.steps]
    return [*lines, f"so: {decision.behavior}, because {decision.reason}"]


def rule_in_words(rule: SourcedRule) -> str:
    """Say what a rule means, in a sentence without a full stop."""
    verb = _VERBS[rule.behavior]
    if rule.broken and rule.behavior == "allow":
        return f"it cannot be read ({rule.broken}), so it lets nothing pass"
    if rule.broken:
        return f"it cannot be read ({rule.broken}), so it {verb} every use of what it may have meant"
    return f"{verb} {_subject(rule.rule.tool, rule.rule.content)}"


def _subject(tool: str, content: str | None) -> str:
    if tool.startswith("mcp__"):
        server, _, name = tool.removeprefix("mcp__").partition("__")
        return f"every tool of the MCP server {server}" if name in ("", "*") else f"the tool {name} of {server}"
    if content is None:
        return "every tool" if tool == "*" else f"every use of {tool}"
    if tool == "Bash":
        return _command(content)
    if tool == "WebFetch" and content.startswith("domain:"):
        return f"fetching from {content.removeprefix('domain:')}"
    if class_of(tool) in ("read", "edit"):
        return f"{_FILE_TOOLS.get(tool, f'{tool} on')} what matches {content} {_place(content)}"
    return f"{tool} of {content}"


def _place(content: str) -> str:
    """Say where the content of a path rule is looked for."""
    return next(words for beginning, words in _PLACES if content.startswith(beginning))


def _command(content: str) -> str:
    for ending in (":*", " *"):
        if content.endswith(ending):
            return f"commands that begin with `{content.removesuffix(ending)}`"
    return f"commands that match `{content}`" if "*" in content else f"exactly the command `{content}`"
