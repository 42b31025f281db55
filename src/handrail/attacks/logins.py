"""W13–W19: guessing, forging and stealing credentials."""

from __future__ import annotations

import asyncio

import websockets

from handrail.attacks.probe import UNKNOWN_SESSION, AttackSucceeded, Probe
from handrail.attacks.table import attack

__all__: list[str] = []

REJECTED = (401, 429)
"""429: after too many failures the server no longer checks the token."""


async def _reject_everywhere(probe: Probe, token: str) -> None:
    """Every route and socket that needs a login rejects this token."""
    for route in await probe.routes_with_login():
        response = await probe.request(route.method, route.path, token=token)
        probe.expect(response, *REJECTED, what=f"{route.method} {route.path} with the token {token[:20]!r}")
    for path in probe.sockets:
        response = await probe.upgrade(path, token=token)
        probe.expect(response, *REJECTED, 400, what=f"the socket {path} with the token {token[:20]!r}")


@attack("W13", "guess login links with a different X-Forwarded-For each time")
async def guessed_links(probe: Probe) -> None:
    statuses = [
        (
            await probe.request("POST", "/api/login", {"link": f"guess{n}"}, token="", x_forwarded_for=f"10.0.0.{n}")
        ).status
        for n in range(20)
    ]
    if statuses.count(401) > 2 or set(statuses) - {401, 429}:
        raise AttackSucceeded(f"{statuses.count(401)} guesses were checked: {statuses}")


@attack("W14", "constant, short or empty secrets")
async def weak_secrets(probe: Probe) -> None:
    tokens = [await probe.device("view") for _ in range(3)]
    secrets = {token.partition(".")[2] for token in tokens}
    if len(secrets) != 3 or min(map(len, secrets)) < 43:
        raise AttackSucceeded("tokens have less than 256 random bits")
    for empty in ("", " ", ".", "undefined", "null", f"{tokens[0].partition('.')[0]}."):
        response = await probe.request("GET", "/api/sessions", token="", authorization=f"Bearer {empty}")
        probe.expect(response, *REJECTED, what=f"the token {empty!r}")


@attack("W15", "register as the first user")
async def registration(probe: Probe) -> None:
    for path in ("/api/auth/register", "/api/register", "/api/setup", "/register"):
        response = await probe.request("POST", path, {"username": "x", "password": "x"}, token="")
        probe.expect(response, 404, what=path)


@attack("W16", "continue after the device was revoked")
async def revoked_device(probe: Probe) -> None:
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
            raise AttackSucceeded("its socket stays open") from None
    await _reject_everywhere(probe, token)
    cookie = f"{probe.cookie}={token}"
    response = await probe.request("GET", "/api/sessions", token="", cookie=cookie)
    probe.expect(response, *REJECTED, what="its cookie")


@attack("W17", "forged tokens: unsigned, truncated, one megabyte, non-ASCII")
async def forged_tokens(probe: Probe) -> None:
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
        response = await probe.request("GET", "/api/sessions", token=token)
        probe.expect(response, *REJECTED, 431, what=f"the token {token[:20]!r}")
        if len(token) < 1000:
            response = await probe.upgrade(token=token)
            probe.expect(response, *REJECTED, 400, what=f"a socket with the token {token[:20]!r}")
    await _reject_everywhere(probe, device[:-1])
    response = await probe.request("GET", "/api/sessions", token="", authorization=f"Basic {device}")
    probe.expect(response, *REJECTED, what="Basic authentication")


@attack("W18", "access a session by its id without the scope", "a server has one user; scopes limit each device")
async def missing_scope(probe: Probe) -> None:
    id = UNKNOWN_SESSION
    for path in (f"/api/sessions/{id}", f"/api/sessions/{id}/events", f"/api/sessions/{id}/events/1"):
        probe.expect(await probe.request("GET", path), 404, what=path)
    token = await probe.device("view")
    body = {"id": "w18", "command": "send", "fields": {"session": id, "text": "hello"}}
    response = await probe.request("POST", "/api/commands", body, token=token)
    probe.expect(response, 403, what="a prompt from a device with the scope view")
    for route in await probe.routes_with_login():
        if route.scope != "view":
            response = await probe.request(route.method, route.path, token=token)
            probe.expect(response, 403, what=f"{route.method} {route.path} without the scope {route.scope}")


@attack("W19", "redirect to another site after the login")
async def open_redirect(probe: Probe) -> None:
    for target in ("//evil.com", "/\\evil.com", "https:evil.com", "https://evil.com"):
        for path in ("/", "/login", "/api/login"):
            response = await probe.request("GET", f"{path}?next={target}", token="")
            if response.status in range(300, 400) or "location" in response.headers:
                raise AttackSucceeded(f"{path}?next={target} redirects to {response.headers.get('location')}")
