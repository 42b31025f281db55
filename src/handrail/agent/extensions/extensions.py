"""The extensions of a session: places with files of the user and the project, plugins, output styles.

They are read when the session starts, and again at the host's request.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.agent.extensions.output_styles import OutputStyles
from handrail.agent.extensions.plugins import load_plugins
from handrail.agent.extensions.sources import sources
from handrail.agent.session import Session
from handrail.files.resolve import real_path
from handrail.settings.merge import HookEntry

__all__ = ["Extensions"]

JsonObject = dict[str, Any]


class Extensions:
    """All extensions. `problems` says which plugins could not be used and why."""

    def __init__(self, session: Session) -> None:
        self._session = session
        without_servers = session.arguments.plugin_dir_no_mcp
        self.folders = [*session.arguments.plugin_dir, *without_servers]
        self._silent = {real_path(os.path.join(session.cwd, os.path.expanduser(one))) for one in without_servers}
        self.read(again=False)

    def read(self, *, again: bool) -> None:
        """Read everything. `again`: check the trust of the project again too."""
        session = self._session
        self.places = sources(session, again=again)
        self.plugins, self.problems = load_plugins(self.folders, session.cwd)
        self.styles = OutputStyles(self.places, self.plugins)

    def hooks(self) -> tuple[HookEntry, ...]:
        """The hooks of settings and plugins; those of plugins only if the settings do not disable them."""
        if self._session.arguments.bare:
            return ()
        values = self._session.settings.values
        own = self._session.settings.hooks
        if values.get("disableAllHooks") is True or values.get("allowManagedHooksOnly") is True:
            return own
        return (*own, *(hook for plugin in self.plugins for hook in plugin.hooks))

    def servers(self) -> dict[str, JsonObject]:
        """The MCP servers of all plugins."""
        if self._session.arguments.strict_mcp_config:
            return {}
        return {
            name: dict(entry)
            for plugin in self.plugins
            if plugin.path not in self._silent
            for name, entry in plugin.servers.items()
        }

    @property
    def output_style(self) -> str:
        """The name of the output style in force."""
        return self.styles.chosen(self._session.settings.values.get("outputStyle"))

    @property
    def style_text(self) -> str:
        """The instructions of the output style in force."""
        return self.styles.text(self.output_style)

    def lines(self) -> list[JsonObject]:
        """The plugins, for the init line."""
        return [plugin.line() for plugin in self.plugins]

    def errors(self) -> list[JsonObject]:
        """The plugins that could not be used, for the init line."""
        return [{"plugin": "", "type": "load_error", "message": problem} for problem in self.problems]
