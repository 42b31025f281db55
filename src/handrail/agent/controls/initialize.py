"""The control request `initialize`.

Hosts wait for its answer, so this imports nothing that only other requests need.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from handrail.agent.arguments import VERSION
from handrail.agent.base import Host
from handrail.agent.controls.handshake import Handshake
from handrail.agent.controls.table import Answered, control
from handrail.agent.extensions.agents import Agents
from handrail.agent.extensions.extensions import Extensions
from handrail.agent.known_models import DEMO_MODEL, MODELS
from handrail.agent.session import Session
from handrail.agent.slash_commands.commands import Commands
from handrail.connection.router import Refusal
from handrail.schema.handshake import Account, Agent, InitializeAnswer, Model, SlashCommand

__all__ = ["InitializeControl", "models", "slash_commands"]

JsonObject = dict[str, Any]


class InitializeControl:
    """Answers it. `preload` loads what the first prompt needs, `is_running` says whether a turn runs."""

    def __init__(
        self,
        session: Session,
        host: Host,
        handshake: Handshake,
        *,
        commands: Commands,
        agents: Agents,
        extensions: Extensions,
        preload: Callable[[], None],
        is_running: Callable[[], bool],
    ) -> None:
        self._session, self._host, self._handshake = session, host, handshake
        self._commands, self._agents, self._extensions = commands, agents, extensions
        self._preload, self._is_running = preload, is_running

    @control("initialize")
    async def initialize(self, fields: JsonObject) -> Answered:
        try:
            self._handshake.apply(fields)
        except ValueError as error:
            raise Refusal(f"initialize: {error}") from None
        self._preload()
        pending = {
            "pending_permission_requests": self._host.unanswered("can_use_tool"),
            "pending_user_dialog_requests": self._host.unanswered("request_user_dialog"),
        }
        return Answered(self._state(), pending)

    def _state(self) -> InitializeAnswer:
        session = self._session
        return InitializeAnswer(
            commands=slash_commands(self._commands.listed()),
            agents=[Agent(**one) for one in self._agents.listed()],
            output_style=self._extensions.output_style,
            available_output_styles=self._extensions.styles.names(),
            user_output_styles_dir=os.path.join(session.config_home, "output-styles"),
            models=models(demo=session.is_demo),
            account=Account(
                token_source="none",  # noqa: S106 - a word of the wire
                api_key_source=session.key_source,
                api_provider="firstParty",
            ),
            pid=os.getpid(),
            claude_code_version=VERSION,
            current_permission_mode=session.mode,
            fast_mode_state="off",
            session_state="running" if self._is_running() else "idle",
            **self._handshake.answer,
        )


def slash_commands(listed: list[JsonObject]) -> list[SlashCommand]:
    """The entries of a list of commands as views."""
    return [
        SlashCommand(
            name=one["name"],
            description=one["description"],
            argument_hint=one["argumentHint"],
            builtin=one.get("builtin", False),
        )
        for one in listed
    ]


def models(*, demo: bool = False) -> list[Model]:
    """The models to choose from as views."""
    if demo:
        about = "A script that needs no account and costs nothing"
        return [Model(value=DEMO_MODEL, resolved_model=DEMO_MODEL, display_name=DEMO_MODEL, description=about)]
    return [
        Model(
            value=known.id,
            resolved_model=known.id,
            display_name=known.name,
            description=f"${known.input:g}/${known.output:g} per Mtok",
            supports_effort=bool(known.efforts),
            supported_effort_levels=list(known.efforts),
            supports_adaptive_thinking=known.adaptive_thinking,
        )
        for known in MODELS
    ]
