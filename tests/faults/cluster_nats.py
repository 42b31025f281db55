"""Three NATS servers that can be cut off from each other.

Each server reaches each other server through a separate proxy. The routes they advertise lead nowhere, so that no
server finds a way around a cut.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType

from handrail.testing.nats_server import NatsCluster, NatsServer
from tests.faults.fault_proxy import FaultProxy
from tests.faults.server_process import free_port

__all__ = ["LinkedNats"]

SIZE = 3
NOWHERE = "127.0.0.1:9"
"""The `discard` port, where no one listens."""


class LinkedNats(NatsCluster):
    """Servers whose routes pass through fault proxies."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, size=0)
        self._folder = folder
        self._links: dict[tuple[int, int], FaultProxy] = {}
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> LinkedNats:
        ports = [free_port() for _ in range(SIZE)]
        pairs = [(one, other) for one in range(SIZE) for other in range(SIZE) if one != other]
        for one, other in pairs:
            self._links[one, other] = await self._stack.enter_async_context(FaultProxy(ports[other]))
        self.servers = [self._server(number, port) for number, port in enumerate(ports)]
        try:
            await super().__aenter__()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            await self._stack.aclose()

    def _server(self, number: int, port: int) -> NatsServer:
        ways = [f'"nats-route://127.0.0.1:{link.port}"' for (one, _), link in self._links.items() if one == number]
        lines = (f'listen: "127.0.0.1:{port}"', f'advertise: "{NOWHERE}"', "no_advertise: true")
        text = f"cluster {{ name: faults, {', '.join(lines)}, routes: [{', '.join(ways)}] }}\n"
        return NatsServer(self._folder / f"n{number}", name=f"n{number}", extra=text)

    def cut(self, server: NatsServer, *, silent: bool) -> None:
        """Cut all routes of this server. `silent`: connections stay open, but carry nothing."""
        for link in self._links_of(server):
            link.gone = silent
            link.refuses = True
            if not silent:
                link.cut()

    def heal(self, server: NatsServer) -> None:
        """Restore all routes of this server."""
        for link in self._links_of(server):
            link.gone = link.refuses = False
            link.cut()

    def _links_of(self, server: NatsServer) -> list[FaultProxy]:
        number = self.servers.index(server)
        return [link for pair, link in self._links.items() if number in pair]
