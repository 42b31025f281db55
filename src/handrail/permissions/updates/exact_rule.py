"""Rules that allow one tool call again and nothing else. Pure.

`exact_rule` turns a call into the narrowest allow rule that covers it:

| tool | rule |
|---|---|
| Bash | the exact command |
| Read, NotebookRead | `Read` of this file |
| Edit, MultiEdit, Write, NotebookEdit | `Edit` of this file |
| WebFetch | the domain, because rules cannot name a URL |

Other tools have rules for the whole tool only, which would allow other inputs as well. For them, and for commands and
paths that a rule cannot spell, the result is None. `call_key` identifies a call, so that a host can remember it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from handrail.permissions.paths.names import oddity, squash
from handrail.permissions.paths.patterns import escape, problem_of
from handrail.permissions.rules.bash_content import compile_content
from handrail.permissions.rules.rule import Rule, RuleError, parse_rule
from handrail.permissions.shell.commands import read_script
from handrail.permissions.shell.text import deception
from handrail.permissions.tools.addresses import host_of
from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate

__all__ = ["call_key", "exact_rule", "exact_update"]

_BASH_FIELDS: Final = frozenset({"command", "description", "timeout", "run_in_background"})
"""Fields that do not change what a command may do. A rule ignores any others, such as dangerouslyDisableSandbox."""
_PATH_FIELDS: Final = frozenset({"file_path", "notebook_path", "path"})
# A path rule for Write or MultiEdit is ignored by the Claude CLI: it reads file rules of Read and Edit only. Glob, Grep
# and LS are missing, because a rule for their folder would allow reading every file in it.
_FILE_RULES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("Read", "NotebookRead"), "Read"),
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit"), "Edit"),
}


def exact_rule(tool: str, input: Mapping[str, Any]) -> Rule | None:
    """The allow rule for this call, or None if no rule covers it without allowing other calls."""
    rule: Rule | None = None
    if tool == "Bash":
        rule = _command_rule(input)
    elif tool in _FILE_RULES:
        rule = _file_rule(_FILE_RULES[tool], input)
    elif tool == "WebFetch":
        rule = _domain_rule(input)
    return rule if rule is not None and _reads_back(rule) else None


def exact_update(tool: str, input: Mapping[str, Any]) -> PermissionUpdate | None:
    """The session update that grants `exact_rule`; None under the same conditions."""
    rule = exact_rule(tool, input)
    if rule is None:
        return None
    value = PermissionRuleValue(tool_name=rule.tool, rule_content=rule.content)
    return PermissionUpdate(type="addRules", rules=[value], behavior="allow", destination="session")


def call_key(tool: str, input: Mapping[str, Any]) -> bytes:
    """Bytes that are equal for identical calls. The description of a Bash command is not part of the call."""
    compared = {name: value for name, value in input.items() if (tool, name) != ("Bash", "description")}
    return msgspec.json.encode([tool, compared], order="deterministic")


def _command_rule(input: Mapping[str, Any]) -> Rule | None:
    command = input.get("command")
    if not isinstance(command, str) or not command.strip() or set(input) - _BASH_FIELDS:
        return None
    text = command.strip()
    # A rule reads a star as a wildcard, and no rule may contain hidden characters.
    if "*" in text or deception(text):
        return None
    return Rule("Bash", text) if _is_matched_as_a_whole(text) else None


def _is_matched_as_a_whole(text: str) -> bool:
    """Whether a rule with this text covers only this text.

    A rule for one plain command also covers that command inside other scripts, where variables may differ: `rm $X`
    would allow `X=/; rm $X`, and a loop with one command would allow the same command in any loop.
    """
    if not compile_content(text).readable:
        return True
    (command,) = read_script(text).commands
    return command.text == text and all(word.fixed for word in command.words)


def _file_rule(tool: str, input: Mapping[str, Any]) -> Rule | None:
    paths = [input[name] for name in _PATH_FIELDS if input.get(name) is not None]
    if len(paths) != 1 or not isinstance(path := paths[0], str):
        return None
    # A relative path, `~` or `..` depends on the folder and its links when the call runs.
    if path != squash(path) or path == "/" or oddity(path):
        return None
    content = f"/{escape(path)}"
    return None if problem_of(content) else Rule(tool, content)


def _domain_rule(input: Mapping[str, Any]) -> Rule | None:
    url = input.get("url")
    host = host_of(url) if isinstance(url, str) else ""
    return Rule("WebFetch", f"domain:{host}") if host else None


def _reads_back(rule: Rule) -> bool:
    try:
        return parse_rule(str(rule)) == rule
    except RuleError:
        return False
