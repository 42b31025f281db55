"""W01–W12: other pages, other names, other ways to get in from a browser."""

from __future__ import annotations

from handrail.bridge.web_attacks.probe import GotThrough, Probe
from handrail.bridge.web_attacks.row import attack

__all__: list[str] = []

EVIL = "https://evil.example"


async def _page(probe: Probe, origin: str, status: int) -> None:
    """A page of this origin, in a browser that is logged in, with a good ticket."""
    token = await probe.device("view")
    ticket = (await probe.ask("POST", "/api/tickets", token=token)).json["ticket"]
    cookie = f"{probe.cookie}={token}"
    heard = await probe.upgrade(protocols=f"handrail.v1, ticket.{ticket}", cookie=cookie, origin=origin)
    probe.expect(heard, status, what=f"a socket from origin {origin or 'none'}")


@attack("W01", "a socket from a page of another origin")
async def other_origin(probe: Probe) -> None:
    await _page(probe, probe.address, 101)
    await _page(probe, EVIL, 403)


@attack("W02", "a socket from a page without an origin of its own (null)")
async def null_origin(probe: Probe) -> None:
    await _page(probe, "null", 403)


@attack("W03", "a cookie without an origin; a program's token needs none")
async def no_origin(probe: Probe) -> None:
    await _page(probe, "", 403)
    probe.expect(await probe.upgrade(token=probe.token), 101, what="a program's socket")


@attack("W04", "origins that only look like ours")
async def like_ours(probe: Probe) -> None:
    for origin in (
        f"{probe.address}.evil.com",
        f"http://localhost.evil.com:{probe.port}",
        "https://trusted.example.com.evil.com",
        f"http://evil@{probe.host}",
        f"{probe.address}/",
        f"http://localhost:{probe.port + 1}",
    ):
        await _page(probe, origin, 403)


@attack("W05", "a name that somebody lets point here, at every route")
async def rebound_name(probe: Probe) -> None:
    paths = (await probe.ask("GET", "/api/openapi.json")).json["paths"]
    host = f"evil.example:{probe.port}"
    for path, methods in paths.items():
        for method in methods:
            probe.expect(await probe.ask(method.upper(), path, host=host), 421, what=f"{method} {path}")
    probe.expect(await probe.upgrade(token=probe.token, host=host), 421, what="the socket")


@attack("W06", "names that mean this machine and are not listed; two names; none")
async def unlisted_names(probe: Probe) -> None:
    port = probe.port
    names = ("127.0.0.1.nip.io", "0.0.0.0", "[::ffff:127.0.0.1]", "localhost.", "2130706433", "0x7f.1")  # noqa: S104
    for host in (*names, *(f"{name}:{port}" for name in names), f"{probe.name}:{port + 1}", "evil.example"):
        probe.expect(await probe.ask("GET", "/", host=host), 421, 400, what=f"Host {host}")
    good = f"Host: {probe.host}\r\n"
    for head in (
        "GET / HTTP/1.1\r\n\r\n",
        f"GET / HTTP/1.1\r\n{good}Host: evil.example\r\n\r\n",
        f"GET http://evil/ HTTP/1.1\r\n{good}\r\n",
    ):
        probe.expect(await probe.raw(head.encode()), 421, 400, what=head.splitlines()[0])


@attack("W07", "a form, or a script of another site, that would start a session")
async def simple_posts(probe: Probe) -> None:
    body = b'{"id":"w07","command":"start","fields":{"cwd":"/"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        heard = await probe.ask("POST", "/api/commands", body, content_type=kind)
        probe.expect(heard, 415, 403, what=kind)
    heard = await probe.ask("POST", "/api/commands", body, sec_fetch_site="cross-site")
    probe.expect(heard, 403, what="a script of another site")


@attack("W08", "a change by a mere GET")
async def change_by_get(probe: Probe) -> None:
    probe.expect(await probe.ask("GET", "/api/sessions/11111111-1111-1111-1111-111111111111/stop"), 404, 405)
    for path in ("/api/commands", "/api/logout", "/api/tickets", "/api/links", "/api/login"):
        probe.expect(await probe.ask("GET", path), 405, what=path)


@attack("W09", "asking beforehand whether another origin may (CORS)")
async def preflight(probe: Probe) -> None:
    for method, origin in (("OPTIONS", EVIL), ("GET", EVIL), ("OPTIONS", probe.address), ("GET", probe.address)):
        heard = await probe.ask(method, "/api/sessions", origin=origin, access_control_request_method="POST")
        if found := [name for name in heard.headers if name.startswith("access-control")]:
            raise GotThrough(f"{method} from {origin} was answered with {found[0]}")


@attack("W10", "a one-time link used twice")
async def link_twice(probe: Probe) -> str:
    link = (await probe.ask("POST", "/api/links", {"scopes": ["view"]})).json["link"]
    first = await probe.ask("POST", "/api/login", {"link": link}, token="", origin=probe.address)
    if first.status == 429:
        return "not tried: this address has logged in too often just now"
    probe.expect(first, 200, 303, what="the first use")
    cookie = first.headers.get("set-cookie", "").lower()
    token = first.headers["set-cookie"].partition("=")[2].partition(";")[0]
    await probe.revoke(token)
    for wanted in ("httponly", "samesite=strict", "path=/", *(["secure", "__host-"] if probe.secure else [])):
        if wanted not in cookie:
            raise GotThrough(f"the cookie is not {wanted}")
    if link.encode() in first.body or token.encode() in first.body:
        raise GotThrough("a secret stands in the answer")
    if first.headers.get("referrer-policy") != "no-referrer":
        raise GotThrough("pages that follow are told where we come from")
    probe.expect(await probe.ask("POST", "/api/login", {"link": link}, token=""), 401, 429, what="the second use")
    return ""


@attack("W11", "a token in the address")
async def token_in_address(probe: Probe) -> None:
    probe.expect(await probe.upgrade(f"/ws?token={probe.token}"), 401, what="the socket")
    probe.expect(await probe.ask("GET", f"/ws?token={probe.token}", token=""), 401, what="/ws")
    probe.expect(await probe.ask("GET", f"/api/sessions?token={probe.token}", token=""), 401, what="the API")


@attack("W12", "an address that would make the page talk to another server", "seen from the server: its headers")
async def other_server(probe: Probe) -> None:
    plain = await probe.ask("GET", "/", token="")
    heard = await probe.ask("GET", "/?gatewayUrl=wss://evil.example&ws=wss://evil.example", token="")
    if heard.body != plain.body or "connect-src 'self';" not in heard.headers["content-security-policy"]:
        raise GotThrough("the page is another one, or may talk to others")
