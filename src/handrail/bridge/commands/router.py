"""The router port: which machine does a command, which one is followed, and what all of them know together.

`Alone` is the form for one server. The form for several is `ClusterRouter` in `cluster/routing/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from msgspec import Struct

from handrail.bridge.commands.table import Call, Command
from handrail.bridge.commands.workspace import Workspace
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.acp_agents import AcpAgents, AgentRow
from handrail.bridge.session.feed import FollowedSession
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store.base import EventLog, Hit
from handrail.bridge.store.usage import Usage

__all__ = ["Alone", "Fetch", "Fetched", "Gauge", "Router"]

JsonObject = dict[str, Any]


class Fetch(Struct, frozen=True, tag=True):
    """A GET request for files or frames that exist only on the machine of a session, with the caller's scopes."""

    method: str
    path: str
    query: list[tuple[str, str]]
    device: str
    name: str
    scopes: list[str]


class Fetched(Struct, frozen=True):
    """The response to a `Fetch`. Between machines a long body is split; `more` is false in the last part."""

    status: int = 200
    headers: list[tuple[str, str]] = []
    body: bytes = b""
    more: bool = False


class Gauge(Struct, frozen=True):
    """One figure for Prometheus; `node` is its label, if it has one."""

    name: str
    description: str
    value: float
    node: str = ""


class Router(Protocol):
    """Where commands go and where answers come from."""

    @property
    def name(self) -> str:
        """The name of this machine in the cluster; "" for a server alone."""
        ...

    async def forward(self, call: Call, row: Command, fields: Struct) -> bytes | None:
        """The receipt of the machine the command belongs to; None if that is this one. Raises CommandRefused."""
        ...

    async def earlier_receipt(self, call: Call, row: Command, fields: Struct) -> bytes | None:
        """A receipt that arrives with a session taken over from another machine, if any."""
        ...

    async def follow(self, session: str, after: int = 0) -> FollowedSession:
        """A session to read and follow from a seq, on whichever machine it runs. Raises CommandRefused if unknown."""
        ...

    async def fetch(self, session: str, request: Fetch) -> Fetched | None:
        """The response of the machine of the session; None if that is this one. Raises CommandRefused."""
        ...

    async def search(self, words: str, *, limit: int, session: str | None) -> list[Hit]:
        """Events that contain all words, newest first."""
        ...

    async def terminal_sessions(self, limit: int) -> list[JsonObject]:
        """Sessions that CLIs started in a terminal, newest first."""
        ...

    async def usage(self, days: int) -> list[JsonObject]:
        """Usage per day, project and model."""
        ...

    async def folders(self, below: str) -> JsonObject:
        """The workspace roots, or the folders in `below`. Raises CommandRefused if `below` is outside every root."""
        ...

    async def agents(self, ask: str) -> list[AgentRow]:
        """The ACP agents to choose from; the one that `ask` names is asked what it can do. Raises CommandRefused."""
        ...

    async def is_shown(self, session: str) -> bool:
        """Whether a visible client of any machine shows the session."""
        ...

    async def status(self) -> JsonObject:
        """Machines, leases and streams of the cluster. Raises CommandRefused for a server alone."""
        ...

    def gauges(self) -> Iterable[Gauge]:
        """Figures about the cluster; none for a server alone."""
        ...


class Alone:
    """The router of a single server: everything is here. In a cluster it answers for this machine."""

    name = ""

    def __init__(
        self,
        sessions: Sessions,
        log: EventLog,
        terminal: TerminalSessions,
        usage: Usage,
        workspace: Workspace,
        agents: AcpAgents,
        shows: Callable[[str], bool],
    ) -> None:
        self._sessions, self._log, self._terminal, self._usage = sessions, log, terminal, usage
        self._workspace, self._agents, self._shows = workspace, agents, shows

    async def forward(self, call: Call, row: Command, fields: Struct) -> bytes | None:
        """Every command belongs here."""
        return None

    async def earlier_receipt(self, call: Call, row: Command, fields: Struct) -> bytes | None:
        """The executor has already looked here."""
        return None

    async def follow(self, session: str, after: int = 0) -> FollowedSession:
        """The host of the session."""
        return await self._sessions.get(session)

    async def fetch(self, session: str, request: Fetch) -> Fetched | None:
        """Every file is here."""
        return None

    async def search(self, words: str, *, limit: int, session: str | None) -> list[Hit]:
        """Search the event log of this machine."""
        return await self._log.search(words, limit=limit, session=session)

    async def terminal_sessions(self, limit: int) -> list[JsonObject]:
        """The terminal sessions of this machine."""
        return await self._terminal.rows(limit)

    async def usage(self, days: int) -> list[JsonObject]:
        """The usage of this machine."""
        return await self._usage.rows(days)

    async def folders(self, below: str) -> JsonObject:
        """The folders of this machine."""
        return await self._workspace.folders(below)

    async def agents(self, ask: str) -> list[AgentRow]:
        """The agents of this machine."""
        return await self._agents.rows(ask)

    async def is_shown(self, session: str) -> bool:
        """Whether a visible client of this machine shows the session."""
        return self._shows(session)

    async def status(self) -> JsonObject:
        """Raises CommandRefused."""
        raise CommandRefused("not_found", "this server is not part of a cluster; start it with --cluster")

    def gauges(self) -> Iterable[Gauge]:
        """None."""
        return ()
