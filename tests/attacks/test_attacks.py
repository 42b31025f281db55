"""Every web attack of the threat model against a real server, and against one that accepts everything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from handrail.attacks import attacks, requests, run, run_attack
from handrail.attacks.probe import EXAMPLES, Probe
from handrail.attacks.table import Attack
from handrail.bridge.server import PAGE
from handrail.bridge.web import guard, http_server, sockets
from handrail.bridge.web.http.static import page_routes
from tests.bridge.certificate import own_certificate
from tests.bridge.serving import running
from tests.bridge.web.http.api_routes import ROUTES as TABLE

SLOW = {"W32", "W33", "W42"}
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def probe(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Probe]:
    folder = tmp_path_factory.mktemp("attacked")
    async with running(folder) as server:
        probe = Probe(server.address, await server.token())
        (folder / "work" / "key").symlink_to("/etc/passwd")
        assert (await probe.command("start", cwd=str(folder / "work"))).status == 200
        yield probe


async def test_table_has_every_row_of_the_threat_model():
    assert [row.id for row in attacks()] == [f"W{number:02}" for number in range(1, 49)]


@pytest.mark.parametrize("row", attacks(), ids=lambda row: row.id)
async def test_server_withstands_attack(probe: Probe, row: Attack):
    outcome = await run_attack(row, probe)
    assert outcome.held, outcome.detail


@contextlib.asynccontextmanager
async def accepting_server(host: str = "127.0.0.1") -> AsyncGenerator[str]:
    """A server that reads one line and accepts every request."""
    session, device = {"id": "i", "cwd": "/w"}, {"id": "x"}
    told = {
        "ticket": "t",
        "token": "a.b",
        "device": device,
        "link": "l",
        "sessions": [session],
        "paths": {"/": {"get": {}, "post": {"x-scope": "view"}}},
    }
    body = json.dumps(told).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        status = b"201 Created" if line.startswith((b"POST /api/devices", b"POST /api/uploads")) else b"200 OK"
        told = b"location: //evil\r\naccess-control-allow-origin: *\r\nset-cookie: a=b"
        head = b"HTTP/1.1 %s\r\n" + told + b"\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % (status, len(body)) + body)
        writer.close()

    listening = await asyncio.start_server(answer, host, 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def test_server_that_accepts_everything_fails_every_row():
    async with accepting_server() as address:
        outcomes = await run(address, "any.token")
    assert {one.id for one in outcomes if one.held} == {"W44"}  # it listens on 127.0.0.1 alone
    assert all(one.detail for one in outcomes if not one.held)


@pytest.mark.parametrize(
    ("address", "detail"),
    [
        ("http://127.0.0.1:{port}", "listens on all addresses without TLS"),
        ("http://localhost:{port}", "listens on all addresses without TLS"),
        ("http://127.0.0.2:{port}", "listens on all addresses without TLS"),
        ("http://192.0.2.1:{port}", "answers without TLS"),
        ("http://box.example:{port}", "answers without TLS"),
    ],
)
async def test_plain_http_on_all_addresses_is_reported(address: str, detail: str):
    (row,) = [row for row in attacks() if row.id == "W44"]
    async with accepting_server("0.0.0.0") as listening:
        port = listening.rpartition(":")[2]
        outcome = await run_attack(row, Probe(address.format(port=port), "any.token"))
    assert (outcome.held, detail in outcome.detail) == (False, True)


# Slow parts


async def test_server_closes_slow_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The slow parts, against a server with shorter timeouts."""
    for module, name in ((http_server, "HEAD_SECONDS"), (guard, "BODY_SECONDS"), (sockets, "HELLO_SECONDS")):
        monkeypatch.setattr(module, name, 0.3)
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.1)
    async with running(tmp_path) as one:
        probe = Probe(one.address, await one.token(), slow=True)
        outcomes = [await run_attack(row, probe) for row in attacks() if row.id in SLOW]
    assert [(one.id, one.held, one.detail) for one in outcomes] == [(id, True, "") for id in sorted(SLOW)]


async def test_server_without_timeouts_fails_the_slow_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("DROPPED_SECONDS", "BODY_SECONDS", "SILENT_SECONDS"):
        monkeypatch.setattr(requests, name, 0.3)
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.1)
    async with running(tmp_path) as one:
        probe = Probe(one.address, await one.token(), slow=True)
        outcomes = [await run_attack(row, probe) for row in attacks() if row.id in SLOW]
    assert [one.id for one in outcomes if one.held] == []


async def test_attacks_over_tls(tmp_path: Path):
    certificate, key = own_certificate(tmp_path)
    async with running(tmp_path, certificate=certificate, key=key) as one:
        trusting = ssl.create_default_context(cafile=str(certificate))
        probe = Probe(one.address, await one.token(), tls=trusting)
        outcomes = [
            await run_attack(row, probe) for row in attacks() if row.id in ("W02", "W10", "W16", "W30", "W42", "W44")
        ]
        assert [(one.id, one.detail) for one in outcomes if not one.held] == []
        with pytest.raises(ssl.SSLError):
            await Probe(one.address, await one.token()).request("GET", "/")


async def test_every_route_and_socket_is_attacked(probe: Probe):
    """The routes come from the router itself."""
    table = [*TABLE, *(row for row, _ in page_routes(PAGE))]
    routes = {(one.method, re.sub(r"\{(\w+)\}", lambda found: EXAMPLES[found[1]], one.path)) for one in table}
    assert {(route.method, route.path) for route in await probe.routes()} == routes
    assert probe.sockets == ["/", "/acp", "/ws"]
