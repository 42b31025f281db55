"""Applies the fields of `initialize`.

Each field takes effect, is reported as not honoured in the answer, or is named in a notice on stderr. A field with an
invalid value refuses the whole request.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from handrail.agent.errors import Refused
from handrail.agent.extensions.agents import Agents
from handrail.agent.extensions.extensions import Extensions
from handrail.agent.record.transcript import Transcript
from handrail.agent.session import Session
from handrail.permissions.rules.rule import Behavior, read_rules
from handrail.schema.handshake import InitializeRequest
from handrail.schema.view import build_view, field_names

if TYPE_CHECKING:
    from handrail.agent.conversation.toolbox import Toolbox
    from handrail.agent.hooks.run import Hooks
    from handrail.agent.mcp.hub import McpHub

__all__ = ["FIELDS", "Handshake", "plugin_path"]

JsonObject = dict[str, Any]
_NOT_HONOURED: Final = "not_honoured"
FIELDS: Final[Mapping[str, str]] = {
    "subtype": "",
    "hooks": "registers the hooks of the host",
    "sdkMcpServers": "connects to the MCP servers of the host",
    "sdkMcpServerConfigs": "adds the ask and deny rules of their tools; other settings are named on stderr",
    "sdkMcpServerManifests": "answered with not_honoured: the servers are asked themselves",
    "sdkMcpServerManifestsOrigin": "belongs to sdkMcpServerManifests",
    "jsonSchema": "adds the StructuredOutput tool",
    "systemPrompt": "replaces the system prompt",
    "appendSystemPrompt": "is appended to the system prompt",
    "planModeInstructions": "is appended to the instructions of plan mode",
    "toolAliases": "redirects tool calls of the model to other tools",
    "agents": "adds agents",
    "title": "names a new session",
    "skills": "selects the skills that are offered",
    "forwardSubagentText": "forwards the text of subagents in the foreground",
    "plugins": "loads plugins from local folders",
    "supportedDialogKinds": "no dialog is ever requested",
    "perTaskStopAffordance": "`stop_task` works in any case",
    "systemPromptSnapshot": "",
    "excludeDynamicSections": "puts the folder, the date and the model into the first prompt",
    "managedSettings": "adds policy settings, with --managed-settings-in-initialize",
    "promptSuggestions": "suggests the next prompt after each turn",
    "agentProgressSummaries": "reports what running subagents do, in a few words of the model",
}
"""The fields of `initialize` and their effect. Those without one are named on stderr."""


class Handshake:
    """The fields of the last `initialize`, and what was made of them.

    `reload` reads plugins, agents, commands and hooks again.
    """

    def __init__(
        self,
        session: Session,
        transcript: Transcript,
        extensions: Extensions,
        agents: Agents,
        *,
        hooks: Callable[[], Hooks],
        has_hooks: Callable[[], bool],
        hub: Callable[[], McpHub],
        toolbox: Callable[[], Toolbox],
        reload: Callable[[], None],
    ) -> None:
        self._session, self._transcript, self._extensions, self._agents = session, transcript, extensions, agents
        self._hooks, self._has_hooks, self._hub, self._toolbox, self._reload = hooks, has_hooks, hub, toolbox, reload
        self.fields: JsonObject = {}
        self.answer: JsonObject = {}
        """The fields of the answer that say what was applied."""

    def apply(self, fields: JsonObject) -> None:
        """Apply them. Raises ValueError, which names the field, for a value that cannot be used."""
        given = {name: value for name, value in fields.items() if value is not None}
        known = {name: value for name, value in given.items() if name in field_names(InitializeRequest)}
        hooks = known.pop("hooks", None)
        request = build_view(InitializeRequest, known)
        self.fields, self.answer = fields, {}
        _notice([name for name in given if given[name] and not FIELDS.get(name) and name != "subtype"])
        if self._has_hooks() or hooks is not None:
            self._hooks().register(hooks)
            self.answer["hooks_applied"] = True
        if isinstance(policy := fields.get("managedSettings"), dict | str) and policy:
            self._use_managed(cast("JsonObject | str", policy))
        if request.agents:
            self._agents.add(request.agents)
            self._session.lead = self._agents.lead()
        self._use_servers(request)
        if request.json_schema is not None:
            self._use_schema(request.json_schema)
        if request.title and request.title.strip() and not self._session.title:
            self._session.title = self._transcript.title = request.title.strip()
        for alias, target in (request.tool_aliases or {}).items():
            if not isinstance(target, str):
                raise ValueError(f"toolAliases.{alias[:60]} must be the name of a tool")
        self._session.tool_aliases = dict(request.tool_aliases or {})
        if request.plugins:
            self._use_plugins(request.plugins)

    def _use_schema(self, schema: JsonObject) -> None:
        """Offer StructuredOutput with this schema. An invalid one is ignored, as in the CLI, with a line on stderr."""
        from handrail.agent.tools.schema_check import schema_problem

        if problem := schema_problem(schema):
            print(f"initialize: jsonSchema is invalid and was ignored: {problem}", file=sys.stderr, flush=True)
        else:
            self._toolbox().schema = schema

    def _use_managed(self, policy: JsonObject | str) -> None:
        """Apply policy settings. Raises ValueError where they are not expected or invalid."""
        if not self._session.arguments.managed_settings_in_initialize:
            raise ValueError("initialize: managedSettings requires --managed-settings-in-initialize")
        try:
            self._session.use_policy(policy, "managedSettings")
        except Refused as error:
            raise ValueError(error.message) from None
        self._session.reload()

    def _use_servers(self, request: InitializeRequest) -> None:
        for name, config in (request.sdk_mcp_server_configs or {}).items():
            if name in request.sdk_mcp_servers and isinstance(config, dict):
                self._use_policy(name, cast("JsonObject", config))
        if request.sdk_mcp_server_manifests:
            self.answer["sdk_mcp_manifests_parked"] = dict.fromkeys(request.sdk_mcp_server_manifests, _NOT_HONOURED)
        if request.sdk_mcp_servers:
            servers = {name: {"type": "sdk", "name": name} for name in request.sdk_mcp_servers}
            self._hub().configure(servers, scope="dynamic")
            self._hub().start()

    def _use_policy(self, server: str, config: JsonObject) -> None:
        """Add the ask and deny rules of a server's tools. An unknown policy asks; `always_allow` grants nothing."""
        from handrail.agent.mcp.content import server_key

        tools = config.get("tools")
        for tool in cast("list[Any]", tools) if isinstance(tools, list) else []:
            entry = cast("JsonObject", tool) if isinstance(tool, dict) else {}
            name, policy = entry.get("name"), entry.get("permission_policy")
            if not isinstance(name, str) or policy in (None, "always_allow"):
                continue
            behavior: Behavior = "deny" if policy == "always_deny" else "ask"
            known = self._session.circumstances
            rules = read_rules([f"mcp__{server_key(server)}__{name}"], behavior, "cliArg")
            new = tuple(rule for rule in rules if rule not in known.rules)
            self._session.circumstances = replace(known, rules=(*known.rules, *new))
        _notice([f"sdkMcpServerConfigs.{server}.{name[:40]}" for name in config if name != "tools"])

    def _use_plugins(self, plugins: list[Any]) -> None:
        for plugin in plugins:
            path = plugin_path(plugin)
            if path not in self._extensions.folders:
                self._extensions.folders.append(path)
        self._reload()
        for problem in self._extensions.problems:
            print(problem, file=sys.stderr, flush=True)
        self.answer["plugins_applied"] = not self._extensions.problems


def plugin_path(plugin: Any) -> str:
    """The folder of a plugin that a host names. Raises ValueError for any other kind."""
    entry = cast("JsonObject", plugin) if isinstance(plugin, dict) else {"path": plugin}
    path = entry.get("path")
    if entry.get("type", "local") != "local" or not isinstance(path, str) or not path:
        raise ValueError(f"plugins: {plugin!r:.80} is not a local plugin with a path")
    return path


def _notice(names: list[str]) -> None:
    for name in names:
        print(
            f"initialize: {name[:80]} is not supported by handrail-agent and was ignored", file=sys.stderr, flush=True
        )
