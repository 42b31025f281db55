"""The attacks of the threat model, each against a real server."""

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

from handrail.bridge.attacks import attacks, run, try_one
from handrail.bridge.server import PAGE
from handrail.bridge.web import guard, http_server, sockets
from handrail.bridge.web.http.catalog import ROUTES as TABLE
from handrail.bridge.web.http.static import page_routes
from handrail.bridge.web_attacks import inputs, limits
from handrail.bridge.web_attacks.probe import EXAMPLES, Probe
from handrail.bridge.web_attacks.row import Attack
from tests.bridge.certificate import own_certificate
from tests.bridge.serving import running

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


async def test_every_row_of_the_threat_model_is_tried_once():
    assert [row.id for row in attacks()] == [f"W{number:02}" for number in range(1, 49)]


@pytest.mark.parametrize("row", attacks(), ids=lambda row: row.id)
async def test_the_server_holds(probe: Probe, row: Attack):
    outcome = await try_one(row, probe)
    assert outcome.held, outcome.told


@contextlib.asynccontextmanager
async def agreeable_server() -> AsyncGenerator[str]:
    """A server that says yes to everything, and reads a single line of it."""
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

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def test_a_server_that_says_yes_to_everything_holds_nowhere():
    async with agreeable_server() as address:
        outcomes = await run(address, "any.token")
    asked_of_the_package = {"W44"}
    assert {one.id for one in outcomes if one.held} == asked_of_the_package
    assert all(one.told for one in outcomes if not one.held)


# What takes its time


async def test_the_server_waits_for_nobody_when_the_attacker_has_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The slow halves, with a server that is as strict and less patient."""
    for module, name in ((http_server, "HEAD_SECONDS"), (guard, "BODY_SECONDS"), (sockets, "HELLO_SECONDS")):
        monkeypatch.setattr(module, name, 0.3)
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.1)
    async with running(tmp_path) as one:
        probe = Probe(one.address, await one.token(), patient=True)
        outcomes = [await try_one(row, probe) for row in attacks() if row.id in SLOW]
    assert [(one.id, one.held, one.told) for one in outcomes] == [(id, True, "") for id in sorted(SLOW)]


async def test_a_server_that_waits_for_ever_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for module, name in ((limits, "DROPPED_SECONDS"), (limits, "BODY_SECONDS"), (inputs, "SILENT_SECONDS")):
        monkeypatch.setattr(module, name, 0.3)
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.1)
    async with running(tmp_path) as one:
        probe = Probe(one.address, await one.token(), patient=True)
        outcomes = [await try_one(row, probe) for row in attacks() if row.id in SLOW]
    assert [one.id for one in outcomes if one.held] == []


async def test_over_tls_the_same_can_be_tried(tmp_path: Path):
    certificate, key = own_certificate(tmp_path)
    async with running(tmp_path, certificate=certificate, key=key) as one:
        trusting = ssl.create_default_context(cafile=str(certificate))
        probe = Probe(one.address, await one.token(), tls=trusting)
        outcomes = [await try_one(row, probe) for row in attacks() if row.id in ("W02", "W10", "W16", "W30", "W42")]
        assert [(one.id, one.told) for one in outcomes if not one.held] == []
        with pytest.raises(ssl.SSLError):
            await Probe(one.address, await one.token()).ask("GET", "/")


async def test_every_route_and_every_socket_is_attacked(probe: Probe):
    """The list that is attacked is the router's own."""
    table = [*TABLE, *(row for row, _ in page_routes(PAGE))]
    routes = {(one.method, re.sub(r"\{(\w+)\}", lambda found: EXAMPLES[found[1]], one.path)) for one in table}
    assert {(way.method, way.path) for way in await probe.ways()} == routes
    assert probe.sockets == ["/", "/ws"]
