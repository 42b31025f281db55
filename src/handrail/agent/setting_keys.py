"""The keys of settings files, one row each. `docs/guides/agent.md` lists these rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, cast

from msgspec import Struct

__all__ = ["SETTING_KEYS", "SettingKey", "without_effect"]


class SettingKey(Struct, frozen=True):
    """One key. `terminal`: it changes the CLI's screen, so there is nothing to do without a terminal."""

    name: str
    text: str
    state: Literal["works", "notice", "terminal"] = "works"


def _terminal(names: str) -> list[SettingKey]:
    return [SettingKey(name, "changes the CLI's own screen", "terminal") for name in names.split()]


def _ignored(names: str, why: str) -> list[SettingKey]:
    return [SettingKey(name, why, "notice") for name in names.split()]


SETTING_KEYS: Final = (
    SettingKey("$schema", "names the schema of the file"),
    SettingKey("agent", "the agent that leads the session"),
    SettingKey("allowManagedHooksOnly", "only hooks of policy settings run"),
    SettingKey("allowManagedPermissionRulesOnly", "only allow rules of policy settings count"),
    SettingKey("attribution", "lines that end commit messages and pull requests: `commit` and `pr`"),
    SettingKey("autoCompactEnabled", "false: a conversation is compacted only by /compact"),
    SettingKey("enableAllProjectMcpServers", "true, in the user's settings: servers of `.mcp.json` need no trust"),
    SettingKey("enabledMcpjsonServers", "in the user's settings: servers of `.mcp.json` that need no trust"),
    SettingKey("language", "the language of answers"),
    SettingKey("alwaysThinkingEnabled", "false: the model does not think"),
    SettingKey("apiKeyHelper", "a command that prints the API key; of a folder only if it is trusted"),
    SettingKey("autoMemoryEnabled", "false: the notes of earlier sessions are not read"),
    SettingKey("claudeMdExcludes", "patterns of memory files that are not read"),
    SettingKey("disableAllHooks", "true: only hooks of policy settings run"),
    SettingKey("disabledMcpjsonServers", "servers of `.mcp.json` that are not used"),
    SettingKey("effortLevel", "effort level"),
    SettingKey("modelSettings", "effort level by model, as `update_settings` writes it"),
    SettingKey("env", "environment variables; of a folder only if it is trusted"),
    SettingKey("hooks", "commands that run at events; of a folder only if it is trusted"),
    SettingKey("mcpServers", "MCP servers; of a folder only if it is trusted"),
    SettingKey("model", "the model"),
    SettingKey("outputStyle", "the output style"),
    SettingKey("permissions.additionalDirectories", "more folders to work in"),
    SettingKey("permissions.allow", "calls that run without a question; of a folder only if it is trusted"),
    SettingKey("permissions.ask", "calls that are asked about"),
    SettingKey("permissions.defaultMode", "the permission mode"),
    SettingKey("permissions.deny", "calls that never run"),
    SettingKey("permissions.disableBypassPermissionsMode", "no mode runs every call without a question"),
    SettingKey("sandbox", "commands run in a sandbox"),
    SettingKey("worktree", "`baseRef`: head: new worktrees begin at HEAD; fresh: at the default branch of origin"),
    *_ignored("awsAuthRefresh awsCredentialExport gcpAuthRefresh", "only the Messages API is supported"),
    *_ignored("forceLoginMethod forceLoginOrgUUID", "accounts cannot sign in"),
    *_ignored("enabledPlugins extraKnownMarketplaces strictKnownMarketplaces", "use --plugin-dir"),
    *_ignored("includeCoAuthoredBy", "commits are signed only as `attribution` says"),
    *_ignored("cleanupPeriodDays", "transcripts are never deleted"),
    *_ignored("otelHeadersHelper", "no telemetry is sent"),
    *_ignored("proxyAuthHelper", "set HTTPS_PROXY"),
    *_ignored("companyAnnouncements", "not supported"),
    *_terminal("autoUpdates autoUpdatesChannel editorMode fileSuggestion footerLinks messageIdleNotifThresholdMs"),
    *_terminal("preferredNotifChannel prefersReducedMotion showTurnDuration spinnerTipsEnabled spinnerTipsOverride"),
    *_terminal("spinnerVerbs statusLine subagentStatusLine syntaxHighlightingDisabled teammateMode"),
    *_terminal("terminalProgressBarEnabled theme tui verbose viewMode"),
)
_GROUP: Final = "permissions"
_KNOWN: Final = frozenset(
    part for key in SETTING_KEYS if key.state != "notice" for part in (key.name, key.name.partition(".")[0])
)


def without_effect(values: Iterable[tuple[str, Any]]) -> list[str]:
    """The keys of a settings file that are ignored, because they are unknown or not supported."""
    found: list[str] = []
    for name, value in values:
        if name == _GROUP and isinstance(value, dict):
            found += [f"{name}.{key}" for key in cast("dict[str, Any]", value) if f"{name}.{key}" not in _KNOWN]
        elif name not in _KNOWN:
            found.append(name)
    return [name if name.isprintable() and len(name) < 80 else repr(name[:60]) for name in found]
