"""A real server on a free loopback port, with tokens to use it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import httpx2
import websockets
from msgspec.structs import replace

from handrail.bridge.commands.table import SCOPES
from handrail.bridge.configuration import Configuration
from handrail.bridge.server import PAGE, Bridge, Served, serve
from handrail.model_access.choice import CliChoice

AGENT = str(Path(sys.executable).with_name("handrail-agent"))


class Running:
    """A server under test."""

    def __init__(self, bridge: Bridge, served: Served) -> None:
        self.bridge, self.served = bridge, served
        self.address, self.port = served.address, served.port
        self._tokens: dict[tuple[str, ...], str] = {}
        self.host = served.address.partition("//")[2]

    async def token(self, scopes: Iterable[str] = SCOPES, kind: Any = "program") -> str:
        """The token of a new device."""
        return (await self.bridge.access.add_device("a test", kind, scopes))[1]

    async def same_token(self, scopes: Iterable[str] = SCOPES) -> str:
        """The token of a device that all tests of one server share, one per set of scopes."""
        wanted = tuple(scopes)
        if wanted not in self._tokens:
            self._tokens[wanted] = await self.token(wanted)
        return self._tokens[wanted]

    def client(self, token: str = "", **headers: str) -> httpx2.AsyncClient:
        login = {"authorization": f"Bearer {token}"} if token else {}
        # Loading the CA certificates would slow down every client.
        return httpx2.AsyncClient(base_url=self.address, headers={**login, **headers}, trust_env=False, verify=False)

    @contextlib.asynccontextmanager
    async def browser(self, scopes: Iterable[str] = SCOPES) -> AsyncGenerator[httpx2.AsyncClient]:
        """A client logged in through a link, as a browser does."""
        async with self.client(origin=self.address) as client:
            answer = await client.post("/api/login", json={"link": await self.bridge.access.make_link(scopes)})
            assert answer.status_code == 200, answer.text
            yield client

    def socket(self, token: str = "", path: str = "/ws", **options: Any) -> Any:
        options.setdefault("subprotocols", ["handrail.v1"])
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **options.pop("headers", {})}
        return websockets.connect(f"ws://{self.host}{path}", additional_headers=headers, proxy=None, **options)


def configuration(folder: Path, **fields: Any) -> Configuration:
    (folder / "work").mkdir(exist_ok=True)
    (folder / "data").mkdir(exist_ok=True)
    defaults = Configuration(cli=CliChoice.fixed(AGENT), data=folder / "data", roots=(folder / "work",), port=0)
    return replace(defaults, **fields)


@contextlib.asynccontextmanager
async def running(folder: Path, *, dialects: Any = None, page: Path = PAGE, **fields: Any) -> AsyncGenerator[Running]:
    bridge = Bridge(configuration(folder, **fields))
    async with serve(bridge, dialects=dialects, page=page) as served:
        yield Running(bridge, served)
