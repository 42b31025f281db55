"""W13–W19: guessing, forging and stealing a login."""

from __future__ import annotations

import asyncio

import websockets

from handrail.bridge.web_attacks.probe import GotThrough, Probe
from handrail.bridge.web_attacks.row import attack

__all__: list[str] = []

OUT = (401, 429)
REVOKED = 4401
"""The close code of a socket whose device was revoked."""
"""Whoever tries too often is not even looked at."""


async def _nobody(probe: Probe, token: str) -> None:
    """No way that needs a login lets this token in."""
    for way in await probe.closed():
        heard = await probe.ask(way.method, way.path, token=token)
        probe.expect(heard, *OUT, what=f"{way.method} {way.path} with the token {token[:20]!r}")
    for path in probe.sockets:
        heard = await probe.upgrade(path, token=token)
        probe.expect(heard, *OUT, 400, what=f"the socket {path} with the token {token[:20]!r}")


@attack("W13", "guessing links, under another address each time")
async def guessing(probe: Probe) -> None:
    statuses = [
        (await probe.ask("POST", "/api/login", {"link": f"guess{n}"}, token="", x_forwarded_for=f"10.0.0.{n}")).status
        for n in range(20)
    ]
    if statuses.count(401) > 2 or set(statuses) - {401, 429}:
        raise GotThrough(f"{statuses.count(401)} guesses were looked at: {statuses}")


@attack("W14", "a secret that is always the same, or none")
async def constant_secret(probe: Probe) -> None:
    tokens = [await probe.device("view") for _ in range(3)]
    secrets = {token.partition(".")[2] for token in tokens}
    if len(secrets) != 3 or min(map(len, secrets)) < 43:
        raise GotThrough("tokens are not of 256 random bits")
    for empty in ("", " ", ".", "undefined", "null", f"{tokens[0].partition('.')[0]}."):
        heard = await probe.ask("GET", "/api/sessions", token="", authorization=f"Bearer {empty}")
        probe.expect(heard, *OUT, what=f"the token {empty!r}")


@attack("W15", "registering as the first user")
async def registering(probe: Probe) -> None:
    for path in ("/api/auth/register", "/api/register", "/api/setup", "/register"):
        heard = await probe.ask("POST", path, {"username": "x", "password": "x"}, token="")
        probe.expect(heard, 404, what=path)


@attack("W16", "going on after the device was revoked")
async def revoked(probe: Probe) -> None:
    token = await probe.device("view")
    async with probe.socket(token) as socket:
        await socket.send('{"type":"hello","protocol":1}')
        await socket.recv()
        await probe.revoke(token)
        try:
            async with asyncio.timeout(5):
                while True:
                    await socket.recv()
        except websockets.ConnectionClosed:
            pass
        except TimeoutError:
            raise GotThrough("its socket stays open") from None
    for way in await probe.closed():
        probe.expect(await probe.ask(way.method, way.path, token=token), *OUT, what=f"{way.method} {way.path}")
    async with probe.socket(token) as socket:
        await socket.wait_closed()
        if socket.close_code != REVOKED:
            raise GotThrough(f"a new socket was closed with {socket.close_code}")
    cookie = f"{probe.cookie}={token}"
    probe.expect(await probe.ask("GET", "/api/sessions", token="", cookie=cookie), *OUT, what="its cookie")


@attack("W17", "forged tokens: unsigned, cut short, a megabyte, not ASCII")
async def forged(probe: Probe) -> None:
    device = await probe.device("view")
    forged = (
        "eyJhbGciOiJub25lIn0.eyJ1c2VyIjoxfQ.",
        device[:-1],
        device + "x",
        device.upper(),
        "é" * 20,
        "x" * 1_000_000,
    )
    for token in forged:
        heard = await probe.ask("GET", "/api/sessions", token=token)
        probe.expect(heard, *OUT, 431, what=f"the token {token[:20]!r}")
        if len(token) < 1000:
            heard = await probe.upgrade(token=token)
            probe.expect(heard, *OUT, 400, what=f"a socket with {token[:20]!r}")
    await _nobody(probe, device[:-1])
    basic = await probe.ask("GET", "/api/sessions", token="", authorization=f"Basic {device}")
    probe.expect(basic, *OUT, what="Basic")


@attack("W18", "the session of somebody else, by its id", "a server has one user: what a device may is its scopes")
async def other_session(probe: Probe) -> None:
    id = "11111111-1111-1111-1111-111111111111"
    for path in (f"/api/sessions/{id}", f"/api/sessions/{id}/events", f"/api/sessions/{id}/events/1"):
        probe.expect(await probe.ask("GET", path), 404, what=path)
    token = await probe.device("view")
    body = {"id": "w18", "command": "send", "fields": {"session": id, "text": "hello"}}
    probe.expect(await probe.ask("POST", "/api/commands", body, token=token), 403, what="a device that may only look")
    for way in await probe.closed():
        if way.scope != "view":
            heard = await probe.ask(way.method, way.path, token=token)
            probe.expect(heard, 403, what=f"{way.method} {way.path} without the scope {way.scope}")


@attack("W19", "being sent on to another site after the login")
async def sent_on(probe: Probe) -> None:
    for after in ("//evil.com", "/\\evil.com", "https:evil.com", "https://evil.com"):
        for path in ("/", "/login", "/api/login"):
            heard = await probe.ask("GET", f"{path}?next={after}", token="")
            if heard.status in range(300, 400) or "location" in heard.headers:
                raise GotThrough(f"{path}?next={after} leads to {heard.headers.get('location')}")
