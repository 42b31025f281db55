"""W01–W12 and W20–W29: attacks that use a browser, by a page of another site or by content shown in our page."""

from __future__ import annotations

from handrail.attacks.probe import PNG, UNKNOWN_SESSION, AttackSucceeded, Probe
from handrail.attacks.table import Attempt, attack

__all__ = ["SERVER_SIDE"]

EVIL = "https://evil.example"
SERVER_SIDE = "only the response headers are checked here; browser tests cover the page"


async def _expect_everywhere(probe: Probe, *statuses: int, **headers: str) -> None:
    """Every route and socket answers these headers so, even with a token that has every scope."""
    what = ", ".join(f"{name} {value}" for name, value in headers.items())
    for route in await probe.routes():
        response = await probe.request(route.method, route.path, **headers)
        probe.expect(response, *statuses, what=f"{route.method} {route.path}, {what}")
    for path in probe.sockets:
        response = await probe.upgrade(path, token=probe.token, **headers)
        probe.expect(response, *statuses, what=f"the socket {path}, {what}")


async def _open_from_page(probe: Probe, origin: str, status: int) -> None:
    """A page of this origin opens a socket in a browser that is logged in, with a valid ticket."""
    token = await probe.device("view")
    ticket = (await probe.request("POST", "/api/tickets", token=token)).json["ticket"]
    cookie = f"{probe.cookie}={token}"
    response = await probe.upgrade(protocols=f"handrail.v1, ticket.{ticket}", cookie=cookie, origin=origin)
    probe.expect(response, status, what=f"a socket from origin {origin!r}")


@attack("W01", "open a socket from a page of another origin")
async def other_origin(probe: Probe) -> None:
    await _open_from_page(probe, probe.address, 101)
    await _open_from_page(probe, EVIL, 403)
    await _expect_everywhere(probe, 403, origin=EVIL)


@attack("W02", "open a socket from a page with origin null")
async def null_origin(probe: Probe) -> None:
    await _open_from_page(probe, "null", 403)
    await _expect_everywhere(probe, 403, origin="null")


@attack("W03", "use a cookie without an Origin header")
async def no_origin(probe: Probe) -> None:
    await _open_from_page(probe, "", 403)
    cookie = f"{probe.cookie}={probe.token}"
    for route in await probe.routes_with_login():
        if route.changes:
            response = await probe.request(route.method, route.path, token="", cookie=cookie)
            probe.expect(response, 403, what=f"{route.method} {route.path} with only a cookie")
    probe.expect(await probe.upgrade(token=probe.token), 101, what="a socket with a bearer token")


@attack("W04", "origins that resemble the server's own")
async def similar_origins(probe: Probe) -> None:
    for origin in (
        f"{probe.address}.evil.com",
        f"http://localhost.evil.com:{probe.port}",
        "https://trusted.example.com.evil.com",
        f"http://evil@{probe.host}",
        f"{probe.address}/",
        f"http://localhost:{probe.port + 1}",
    ):
        await _open_from_page(probe, origin, 403)
        await _expect_everywhere(probe, 403, origin=origin)


@attack("W05", "DNS rebinding: a foreign name that points to the server")
async def rebound_name(probe: Probe) -> None:
    await _expect_everywhere(probe, 421, host=f"evil.example:{probe.port}")


@attack("W06", "unlisted names of this machine, duplicate and missing Host headers")
async def unlisted_names(probe: Probe) -> None:
    port = probe.port
    names = ("127.0.0.1.nip.io", "0.0.0.0", "[::ffff:127.0.0.1]", "localhost.", "2130706433", "0x7f.1")  # noqa: S104
    for host in (*names, *(f"{name}:{port}" for name in names), f"{probe.name}:{port + 1}", "evil.example"):
        await _expect_everywhere(probe, 421, 400, host=host)
    good = f"Host: {probe.host}\r\n"
    for head in (
        "GET / HTTP/1.1\r\n\r\n",
        f"GET / HTTP/1.1\r\n{good}Host: evil.example\r\n\r\n",
        f"GET http://evil/ HTTP/1.1\r\n{good}\r\n",
    ):
        probe.expect(await probe.raw(head.encode()), 421, 400, what=head.splitlines()[0])


@attack("W07", "start a session with a form or a script of another site")
async def simple_posts(probe: Probe) -> None:
    body = b'{"id":"w07","command":"start","fields":{"cwd":"/"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        response = await probe.request("POST", "/api/commands", body, content_type=kind)
        probe.expect(response, 415, 403, what=kind)
    changing = [route for route in await probe.routes() if route.changes]
    for route in changing:
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            response = await probe.request(route.method, route.path, body, content_type=kind)
            probe.expect(response, 415, 403, what=f"{route.method} {route.path} as {kind}")
        response = await probe.request(route.method, route.path, body, sec_fetch_site="cross-site")
        probe.expect(response, 403, what=f"{route.method} {route.path} from another site")
    if not changing:
        raise AttackSucceeded("the server lists no route that changes something")


@attack("W08", "change something with a GET request")
async def change_by_get(probe: Probe) -> None:
    probe.expect(await probe.request("GET", f"/api/sessions/{UNKNOWN_SESSION}/stop"), 404, 405)
    routes = await probe.routes()
    readable = {route.path for route in routes if not route.changes}
    for path in {route.path for route in routes if route.changes} - readable:
        probe.expect(await probe.request("GET", path), 405, what=path)


@attack("W09", "CORS preflight from another origin")
async def preflight(probe: Probe) -> None:
    routes = await probe.routes()
    requests = [(method, route.path, EVIL) for route in routes for method in ("OPTIONS", route.method)]
    requests += [("OPTIONS", route.path, probe.address) for route in routes]
    for method, path, origin in (*requests, ("GET", "/api/sessions", probe.address)):
        response = await probe.request(method, path, origin=origin, access_control_request_method="POST")
        if found := [name for name in response.headers if name.startswith("access-control")]:
            raise AttackSucceeded(f"the response to {method} {path} from {origin} has the header {found[0]}")


@attack("W10", "reuse a one-time login link")
async def reused_link(probe: Probe) -> str | None:
    link = (await probe.request("POST", "/api/links", {"scopes": ["view"]})).json["link"]
    first = await probe.request("POST", "/api/login", {"link": link}, token="", origin=probe.address)
    if first.status == 429:
        return "not tried: logins from this address are rate limited at the moment"
    probe.expect(first, 200, 303, what="the first use")
    cookie = first.headers.get("set-cookie", "").lower()
    token = first.headers["set-cookie"].partition("=")[2].partition(";")[0]
    await probe.revoke(token)
    for attribute in ("httponly", "samesite=strict", "path=/", *(["secure", "__host-"] if probe.secure else [])):
        if attribute not in cookie:
            raise AttackSucceeded(f"the cookie lacks {attribute}")
    if link.encode() in first.body or token.encode() in first.body:
        raise AttackSucceeded("the response body contains a secret")
    if first.headers.get("referrer-policy") != "no-referrer":
        raise AttackSucceeded("the response allows a Referer header")
    second = await probe.request("POST", "/api/login", {"link": link}, token="")
    probe.expect(second, 401, 429, what="the second use")
    return None


@attack("W11", "a token in the URL")
async def token_in_url(probe: Probe) -> None:
    for route in await probe.routes_with_login():
        response = await probe.request(route.method, f"{route.path}?token={probe.token}", token="")
        probe.expect(response, 401, what=f"{route.method} {route.path}")
    for path in probe.sockets:
        probe.expect(await probe.upgrade(f"{path}?token={probe.token}"), 401, what=f"the socket {path}")
    probe.expect(await probe.request("GET", f"/ws?token={probe.token}", token=""), 401, what="/ws")


@attack("W12", "a URL that makes the page connect to another server", SERVER_SIDE)
async def other_server(probe: Probe) -> None:
    plain = await probe.request("GET", "/", token="")
    response = await probe.request("GET", "/?gatewayUrl=wss://evil.example&ws=wss://evil.example", token="")
    if response.body != plain.body or "connect-src 'self';" not in response.headers["content-security-policy"]:
        raise AttackSucceeded("the page differs, or its policy allows other servers")


# Content in the page


def _policy_has(*directives: str) -> Attempt:
    """The Content-Security-Policy has all of these directives and nothing that weakens them."""

    async def check(probe: Probe) -> None:
        for path in ("/", "/api/health"):
            headers = (await probe.request("GET", path, token="")).headers
            policy = headers.get("content-security-policy", "")
            if missing := [directive for directive in directives if directive not in policy]:
                raise AttackSucceeded(f"the policy of {path} lacks {missing[0]}")
            if "unsafe-" in policy or "*" in policy or headers.get("x-content-type-options") != "nosniff":
                raise AttackSucceeded(f"the policy of {path} is too weak: {policy}")

    return check


_NO_SCRIPTS = ("default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'")
attack("W20", "scripts in a model's text", SERVER_SIDE)(_policy_has(*_NO_SCRIPTS))
attack("W21", "scripts in a tool's output", SERVER_SIDE)(_policy_has(*_NO_SCRIPTS))
attack("W22", "scripts and bidirectional text in file names", SERVER_SIDE)(_policy_has(*_NO_SCRIPTS))
attack("W23", "terminal escape sequences that create links", SERVER_SIDE)(
    _policy_has(*_NO_SCRIPTS, "form-action 'none'")
)
attack("W24", "a command whose end is hidden from view", SERVER_SIDE)(
    _policy_has("style-src 'self'", "frame-ancestors 'none'")
)
attack("W26", "an image URL that leaks a secret", SERVER_SIDE)(
    _policy_has("img-src 'self' data: blob:;", "connect-src 'self';", "default-src 'none'")
)
attack("W27", "elements that navigate the page away", SERVER_SIDE)(
    _policy_has("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")
)


@attack("W25", "upload a page disguised as an image")
async def disguised_upload(probe: Probe) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" onload="window.__xss=1"/>'
    response = await probe.request("POST", "/api/uploads", svg, content_type="application/octet-stream")
    probe.expect(response, 415, what="an SVG upload")
    response = await probe.request("POST", "/api/uploads", PNG, content_type="application/octet-stream")
    id = probe.expect(response, 201, what="an upload with a PNG signature").json["id"]
    headers = probe.expect(await probe.request("GET", f"/api/uploads/{id}"), 200, what="the upload").headers
    expected = {
        "content-type": "image/png",
        "content-disposition": "attachment",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    for name, value in expected.items():
        if headers.get(name) != value:
            raise AttackSucceeded(f"the header {name} is {headers.get(name)}")


@attack("W28", "load responses as a script in a page of another site")
async def loaded_as_script(probe: Probe) -> None:
    for site in ("cross-site", "same-site"):
        headers = {"sec_fetch_site": site, "sec_fetch_mode": "no-cors", "sec_fetch_dest": "script"}
        for route in await probe.routes():
            response = await probe.request(route.method, route.path, **headers)
            probe.expect(response, 403, what=f"{site} {route.path}")
            if response.headers.get("cross-origin-resource-policy") != "same-origin":
                raise AttackSucceeded(f"other sites may load {route.path}")


@attack("W29", "prototype pollution: __proto__ and constructor keys")
async def prototype_keys(probe: Probe) -> None:
    frame = '{"type":"hello","protocol":1,"__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}'
    if await probe.close_code(frame) != 4400:
        raise AttackSucceeded("a message with unknown keys was accepted")
    body = {"id": "w29", "command": "stop", "fields": {}, "__proto__": {"ok": True}}
    probe.expect(await probe.request("POST", "/api/commands", body), 400, what="a body with unknown keys")
