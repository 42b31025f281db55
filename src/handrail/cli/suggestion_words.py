"""What a suggested rule would allow, in words. In: a suggestion of the CLI. Out: its true breadth, and its scope."""

from __future__ import annotations

from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate, Suggestion

__all__ = ["rule_text", "usable_suggestions", "words_of"]

SCOPES = {
    "session": "in this session",
    "localSettings": "always in this project, for you: .claude/settings.local.json",
    "projectSettings": "always in this project, for everyone: .claude/settings.json",
    "userSettings": "always in all your projects: ~/.claude/settings.json",
    "cliArg": "while this command runs",
}
MODES = {
    "acceptEdits": "edit files and run simple file commands without asking",
    "bypassPermissions": "do everything without asking",
    "plan": "only read and plan",
    "default": "ask as usual",
    "dontAsk": "deny whatever no rule allows, without asking",
}


def usable_suggestions(suggestions: list[Suggestion]) -> list[PermissionUpdate]:
    """Those that an answer can hand back."""
    return [suggestion for suggestion in suggestions if isinstance(suggestion, PermissionUpdate)]


def words_of(update: PermissionUpdate) -> tuple[str, str]:
    """What it does, and for how long; not yet fit for a terminal."""
    match update.type:
        case "setMode":
            what = f"from now on {MODES.get(update.mode, 'work in another mode')}"
        case "addDirectories":
            what = f"work in {', '.join(update.directories)} too"
        case "removeDirectories":
            what = f"no longer work in {', '.join(update.directories)}"
        case _:
            verb = _VERBS.get((update.type, update.behavior), f"{update.type} {update.behavior}")
            what = f"{verb} {'; '.join(map(_breadth, update.rules))}"
    scope = SCOPES.get(update.destination, f"kept in {update.destination}")
    return what, f"mode {update.mode}, {scope}" if update.type == "setMode" else scope


_VERBS = {
    ("addRules", "allow"): "allow",
    ("addRules", "deny"): "deny",
    ("addRules", "ask"): "always ask for",
    ("replaceRules", "allow"): "drop all other allow rules, and allow",
    ("removeRules", "allow"): "no longer allow",
}


def rule_text(rule: PermissionRuleValue) -> str:
    """The rule as `--allow` takes it."""
    return rule.tool_name if rule.rule_content is None else f"{rule.tool_name}({rule.rule_content})"


def _breadth(rule: PermissionRuleValue) -> str:
    content = rule.rule_content
    if content is None:
        return f"every use of {rule.tool_name}"
    if rule.tool_name == "Bash":
        prefix = content.removesuffix(":*").removesuffix(" *")
        return f"every command that begins with `{prefix}`" if prefix != content else f"exactly `{content}`"
    if rule.tool_name == "WebFetch" and content.startswith("domain:"):
        return f"fetching anything from {content.removeprefix('domain:')}"
    if content.endswith("/**"):
        folder = content.removesuffix("/**")
        return f"{rule.tool_name} of everything below {folder[1:] if folder.startswith('//') else folder}"
    return rule_text(rule)
