"""Control requests about what people add with files: skills, plugins, output styles, hooks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from handrail.agent.controls.handshake import plugin_path
from handrail.agent.controls.initialize import slash_commands
from handrail.agent.controls.mcp import server_statuses
from handrail.agent.controls.session import settings_errors
from handrail.agent.controls.table import INVALID, control
from handrail.agent.extensions.agents import Agents
from handrail.agent.extensions.command import described
from handrail.agent.extensions.extensions import Extensions
from handrail.agent.mcp.content import clean
from handrail.agent.session import Session
from handrail.agent.slash_commands.commands import Commands
from handrail.connection.router import Refusal
from handrail.schema import agent_answers as answers
from handrail.schema.handshake import Agent
from handrail.schema.system_messages import Plugin

if TYPE_CHECKING:
    from handrail.agent.hooks.run import Hooks
    from handrail.agent.mcp.hub import McpHub

__all__ = ["ExtensionControls"]

JsonObject = dict[str, Any]


def _plugin_paths(fields: JsonObject) -> list[str]:
    added: Any = fields.get("add_plugins") or []
    try:
        paths = [plugin_path(plugin) for plugin in msgspec.convert(added, list[JsonObject])]
    except ValueError as error:
        raise Refusal(f"reload_plugins: add_plugins: {error}", INVALID) from None
    if relative := [path for path in paths if not os.path.isabs(path)]:
        raise Refusal(f"reload_plugins: add_plugins: the path {relative[0]!r:.80} must be absolute", INVALID)
    return paths


class ExtensionControls:
    """Answers them. `reload` reads all folders again: hooks, servers, agents, commands, skills, styles."""

    def __init__(
        self,
        session: Session,
        extensions: Extensions,
        agents: Agents,
        commands: Commands,
        *,
        hooks: Callable[[], Hooks],
        hub: Callable[[], McpHub],
        reload: Callable[[], None],
        is_running: Callable[[], bool],
    ) -> None:
        self._session, self._extensions, self._agents, self._commands = session, extensions, agents, commands
        self._hooks, self._hub, self._reload, self._is_running = hooks, hub, reload, is_running

    @control("reload_skills")
    async def reload_skills(self, fields: JsonObject) -> answers.SkillsAnswer:
        self._reload()
        return answers.SkillsAnswer(skills=slash_commands([described(skill) for skill in self._commands.skills()]))

    @control("reload_plugins")
    async def reload_plugins(self, fields: JsonObject) -> answers.ReloadPluginsAnswer:
        if fields.get("hold_on_cache_impact") is True:
            raise Refusal("reload_plugins: hold_on_cache_impact is not supported", INVALID)
        if fields.get("refuse_if_busy") is True and self._is_running():
            raise Refusal("reload_plugins: a turn is running, and refuse_if_busy was given", "busy")
        self._extensions.folders += [path for path in _plugin_paths(fields) if path not in self._extensions.folders]
        self._reload()
        return answers.ReloadPluginsAnswer(
            commands=slash_commands(self._commands.listed()),
            agents=[Agent(**one) for one in self._agents.listed()],
            plugins=[Plugin(**one) for one in self._extensions.lines()],
            servers=server_statuses(self._hub()),
            error_count=len(self._extensions.problems),
        )

    @control("reload_output_styles")
    async def reload_styles(self, fields: JsonObject) -> answers.OutputStylesAnswer:
        self._reload()
        return answers.OutputStylesAnswer(available_output_styles=self._extensions.styles.names())

    @control("get_hooks_listing")
    async def hooks_listing(self, fields: JsonObject) -> answers.HooksListingAnswer:
        from handrail.agent.hooks.base import EVENTS
        from handrail.schema.hooks import HOOK_INPUTS

        values, hooks = self._session.settings.values, self._listed_hooks()
        catalog = [
            answers.HookEvent(
                name=name, summary=(view.__doc__ or "").strip(), supports_matcher=bool(EVENTS[name].matched)
            )
            for name, view in HOOK_INPUTS.table.items()
            if name in EVENTS
        ]
        counts = Counter(hook.event for hook in hooks)
        own = self._session.settings.hooks
        return answers.HooksListingAnswer(
            events=[replace(event, hook_count=counts[event.name]) for event in catalog if counts[event.name]],
            hooks=hooks,
            event_catalog=catalog,
            policy=answers.HookPolicy(
                managed_only=values.get("allowManagedHooksOnly") is True,
                all_disabled=values.get("disableAllHooks") is True,
                policy_hook_count=sum(hook.scope == "policySettings" for hook in own),
            ),
            errors=settings_errors(self._session),
        )

    def _listed_hooks(self) -> list[answers.ListedHook]:
        """The hooks of settings and plugins, then those of the host."""
        found = [
            answers.ListedHook(
                event=hook.event,
                matcher=hook.matcher,
                source=hook.scope,
                source_label=hook.source,
                type=str(hook.hook.get("type") or "command"),
                display_text=clean(str(hook.hook.get("statusMessage") or hook.hook.get("command") or "")),
                command_text=clean(str(hook.hook.get("command") or "")),
                content_label="Command",
                condition=str(hook.hook.get("if") or ""),
                timeout=limit if isinstance(limit := hook.hook.get("timeout"), int | float) else None,
                status_message=str(hook.hook.get("statusMessage") or ""),
                runs_in_background=hook.hook.get("async") is True,
            )
            for hook in self._extensions.hooks()
        ]
        found += [
            answers.ListedHook(
                event=event,
                matcher=entry["matcher"],
                source="sessionHook",
                source_label="Host",
                type="callback",
                content_label="Callback",
                timeout=entry["timeout"],
            )
            for event, entries in self._hooks().listing().items()
            for entry in entries
            if entry["type"] == "callback"
        ]
        return found
