"""W01–W12: other pages, other names, other ways to get in from a browser."""

from __future__ import annotations

from handrail.bridge.web_attacks.probe import GotThrough, Probe
from handrail.bridge.web_attacks.row import attack

__all__: list[str] = []

EVIL = "https://evil.example"


async def _everywhere(probe: Probe, *statuses: int, **headers: str) -> None:
    """What every way in answers to these headers, with a token that may do everything."""
    what = ", ".join(f"{name} {value}" for name, value in headers.items())
    for way in await probe.ways():
        probe.expect(
            await probe.ask(way.method, way.path, **headers), *statuses, what=f"{way.method} {way.path}, {what}"
        )
    for path in probe.sockets:
        heard = await probe.upgrade(path, token=probe.token, **headers)
        probe.expect(heard, *statuses, what=f"the socket {path}, {what}")


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
    await _everywhere(probe, 403, origin=EVIL)


@attack("W02", "a socket from a page without an origin of its own (null)")
async def null_origin(probe: Probe) -> None:
    await _page(probe, "null", 403)
    await _everywhere(probe, 403, origin="null")


@attack("W03", "a cookie without an origin; a program's token needs none")
async def no_origin(probe: Probe) -> None:
    await _page(probe, "", 403)
    cookie = f"{probe.cookie}={probe.token}"
    for way in await probe.closed():
        if way.changes:
            heard = await probe.ask(way.method, way.path, token="", cookie=cookie)
            probe.expect(heard, 403, what=f"{way.method} {way.path} with a cookie alone")
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
        await _everywhere(probe, 403, origin=origin)


@attack("W05", "a name that somebody lets point here, at every route")
async def rebound_name(probe: Probe) -> None:
    await _everywhere(probe, 421, host=f"evil.example:{probe.port}")


@attack("W06", "names that mean this machine and are not listed; two names; none")
async def unlisted_names(probe: Probe) -> None:
    port = probe.port
    names = ("127.0.0.1.nip.io", "0.0.0.0", "[::ffff:127.0.0.1]", "localhost.", "2130706433", "0x7f.1")  # noqa: S104
    for host in (*names, *(f"{name}:{port}" for name in names), f"{probe.name}:{port + 1}", "evil.example"):
        await _everywhere(probe, 421, 400, host=host)
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
    changing = [way for way in await probe.ways() if way.changes]
    for way in changing:
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            heard = await probe.ask(way.method, way.path, body, content_type=kind)
            probe.expect(heard, 415, 403, what=f"{way.method} {way.path} as {kind}")
        heard = await probe.ask(way.method, way.path, body, sec_fetch_site="cross-site")
        probe.expect(heard, 403, what=f"{way.method} {way.path} of another site")
    if not changing:
        raise GotThrough("no route changes anything")


@attack("W08", "a change by a mere GET")
async def change_by_get(probe: Probe) -> None:
    probe.expect(await probe.ask("GET", "/api/sessions/11111111-1111-1111-1111-111111111111/stop"), 404, 405)
    ways = await probe.ways()
    read = {way.path for way in ways if not way.changes}
    for path in {way.path for way in ways if way.changes} - read:
        probe.expect(await probe.ask("GET", path), 405, what=path)


@attack("W09", "asking beforehand whether another origin may (CORS)")
async def preflight(probe: Probe) -> None:
    ways = await probe.ways()
    asked = [(method, way.path, EVIL) for way in ways for method in ("OPTIONS", way.method)]
    asked += [("OPTIONS", way.path, probe.address) for way in ways]
    for method, path, origin in (*asked, ("GET", "/api/sessions", probe.address)):
        heard = await probe.ask(method, path, origin=origin, access_control_request_method="POST")
        if found := [name for name in heard.headers if name.startswith("access-control")]:
            raise GotThrough(f"{method} {path} from {origin} was answered with {found[0]}")


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
    for way in await probe.closed():
        heard = await probe.ask(way.method, f"{way.path}?token={probe.token}", token="")
        probe.expect(heard, 401, what=f"{way.method} {way.path}")
    for path in probe.sockets:
        probe.expect(await probe.upgrade(f"{path}?token={probe.token}"), 401, what=f"the socket {path}")
    probe.expect(await probe.ask("GET", f"/ws?token={probe.token}", token=""), 401, what="/ws")


@attack("W12", "an address that would make the page talk to another server", "seen from the server: its headers")
async def other_server(probe: Probe) -> None:
    plain = await probe.ask("GET", "/", token="")
    heard = await probe.ask("GET", "/?gatewayUrl=wss://evil.example&ws=wss://evil.example", token="")
    if heard.body != plain.body or "connect-src 'self';" not in heard.headers["content-security-policy"]:
        raise GotThrough("the page is another one, or may talk to others")
