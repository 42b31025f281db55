"""What people add to a session: places with files of theirs, plugins, output styles. In: a session. Out: what is there.

Read when the session begins, and again when the host asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handrail.agent.output_styles import OutputStyles
from handrail.agent.plugins import load_plugins
from handrail.agent.session import Session
from handrail.agent.sources import sources
from handrail.settings.merge import HookEntry

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["Extensions", "reload"]

JsonObject = dict[str, Any]


class Extensions:
    """What was found. `problems`: in words, which plugins could not be used and why."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.folders = list(session.arguments.plugin_dir)
        self.read(again=False)

    def read(self, *, again: bool) -> None:
        """Read everything. `again`: whether the project is trusted is asked again too."""
        session = self._session
        self.places = sources(session, again=again)
        self.plugins, self.problems = load_plugins(self.folders, session.cwd)
        self.styles = OutputStyles(self.places, self.plugins)

    def hooks(self) -> tuple[HookEntry, ...]:
        """Those of the settings and of plugins; where the user or the organisation wants none else, none else."""
        values = self._session.settings.values
        own = self._session.settings.hooks
        if values.get("disableAllHooks") is True or values.get("allowManagedHooksOnly") is True:
            return own
        return (*own, *(hook for plugin in self.plugins for hook in plugin.hooks))

    def servers(self) -> dict[str, JsonObject]:
        """The MCP servers of all plugins."""
        if self._session.arguments.strict_mcp_config:
            return {}
        return {name: dict(entry) for plugin in self.plugins for name, entry in plugin.servers.items()}

    @property
    def output_style(self) -> str:
        """The style in force."""
        return self.styles.chosen(self._session.settings.values.get("outputStyle"))

    @property
    def style_text(self) -> str:
        """What the model is told for it."""
        return self.styles.text(self.output_style)

    def lines(self) -> list[JsonObject]:
        """The plugins, for the init line."""
        return [plugin.line() for plugin in self.plugins]

    def errors(self) -> list[JsonObject]:
        """Those that were left out, for the init line."""
        return [{"plugin": "", "type": "load_error", "message": problem} for problem in self.problems]


def reload(engine: Engine) -> None:
    """Read everything again, and put it in place: hooks, servers, agents, commands, skills, styles."""
    extensions = engine.extensions
    extensions.read(again=True)
    engine.hooks.use_commands(extensions.hooks())
    engine.hub.configure(extensions.servers(), scope="plugin")
    engine.agents.reload()
    engine.commands.reload()
