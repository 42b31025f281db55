"""W30–W48: requests that are too large, too slow or malformed, and values that must be rejected."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from itertools import product

import websockets

from handrail.attacks.probe import PNG, SECONDS, UNKNOWN_SESSION, AttackSucceeded, Probe, Route
from handrail.attacks.table import attack

__all__: list[str] = []

HALF_OPEN = 300
FRAGMENTS = 100_000
DROPPED_SECONDS = 15.0
BODY_SECONDS = 35.0
SILENT_SECONDS = 15.0
NOT_WAITED = "timeouts are checked only with --patient"
ABSENT = "not a feature of this server"

# Size, speed and framing


@attack("W30", "a frame over 1 MiB, a message in endless fragments")
async def large_frames(probe: Probe) -> None:
    if (code := await probe.close_code("x" * (1024 * 1024 + 1))) != 1009:
        raise AttackSucceeded(f"a large frame was answered with close code {code}")
    head = f"GET /ws HTTP/1.1\r\nHost: {probe.host}\r\nAuthorization: Bearer {probe.token}\r\nUpgrade: websocket\r\n"
    head += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    head += "Sec-WebSocket-Protocol: handrail.v1\r\n\r\n"
    empty_continuation = b"\x00\x80\x00\x00\x00\x00"  # FIN is not set, so the message is unfinished
    async with probe.connection() as (reader, writer):
        writer.write(head.encode())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x01\x81\x00\x00\x00\x00a")
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(SECONDS):
                for _ in range(FRAGMENTS // 1000):
                    writer.write(empty_continuation * 1000)
                    await writer.drain()
                await reader.read()
        if not reader.at_eof() and not writer.transport.is_closing():
            raise AttackSucceeded(f"{FRAGMENTS} fragments of one message were accepted")


@attack("W31", "compression bomb over WebSocket")
async def compression(probe: Probe) -> None:
    response = await probe.upgrade(token=probe.token, sec_websocket_extensions="permessage-deflate")
    if "sec-websocket-extensions" in probe.expect(response, 101).headers:
        raise AttackSucceeded("the server agreed to compression")


@attack("W32", f"{HALF_OPEN} connections that never finish their request")
async def half_open(probe: Probe) -> str | None:
    async with contextlib.AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(probe.connection()) for _ in range(HALF_OPEN)]
        for _, writer in opened:
            writer.write(f"GET /ws HTTP/1.1\r\nHost: {probe.host}\r\n".encode())
        probe.expect(await probe.upgrade(token=probe.token), 101, what="a valid client meanwhile")
        if not probe.slow:
            return NOT_WAITED
        try:
            async with asyncio.timeout(DROPPED_SECONDS):
                await asyncio.gather(*(reader.read() for reader, _ in opened), return_exceptions=True)
        except TimeoutError:
            raise AttackSucceeded("the connections stay open") from None
    return None


@attack("W33", "a body sent one byte at a time")
async def slow_body(probe: Probe) -> str | None:
    headers = f"Host: {probe.host}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n"
    routes = [route for route in await probe.routes_with_login() if route.changes]
    started = [probe.raw(f"{route.method} {route.path} HTTP/1.1\r\n{headers}\r\n{{".encode()) for route in routes]
    for route, response in zip(routes, await asyncio.gather(*started), strict=True):
        probe.expect(response, 401, 429, what=f"an unfinished body without a token to {route.method} {route.path}")
    if not probe.slow:
        return NOT_WAITED
    with_token = f"POST /api/commands HTTP/1.1\r\n{headers}Authorization: Bearer {probe.token}\r\n\r\n{{"
    probe.expect(await probe.raw(with_token.encode(), seconds=BODY_SECONDS), 408, what="an unfinished body")
    return None


_LENGTHS = (
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: -1",
    "Content-Length: +5",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
)


@attack("W34", "request smuggling: ambiguous body lengths")
async def ambiguous_lengths(probe: Probe) -> None:
    routes = [route for route in await probe.routes() if route.changes] or [Route("POST", "/api/login")]
    headers = f"HTTP/1.1\r\nHost: {probe.host}\r\nContent-Type: application/json\r\n"
    for route, lengths in product(routes, _LENGTHS):
        response = await probe.raw(f"{route.method} {route.path} {headers}{lengths}\r\n\r\n0\r\n\r\n".encode())
        probe.expect(response, 400, 411, 501, 0, what=f"{route.path} with {lengths}".replace("\r\n", " and "))


@attack("W35", "129 headers, a header of 64 KiB")
async def large_headers(probe: Probe) -> None:
    for route, headers in product(await probe.routes(), ("X: y\r\n" * 129, f"X: {'y' * 65536}\r\n")):
        head = f"{route.method} {route.path} HTTP/1.1\r\nHost: {probe.host}\r\n{headers}\r\n"
        probe.expect(await probe.raw(head.encode()), 431, what=f"large headers to {route.path}")


@attack("W36", "path traversal out of the page's folder")
async def path_traversal(probe: Probe) -> None:
    for path in (
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%252e%252e/x",
        "/static/..%5c..%5cx",
        "//etc/passwd",
        "/static/%00",
        "/%c0%ae%c0%ae/x",
        "/page.js/../../app.py",
        "/index.html%00",
    ):
        probe.expect(await probe.request("GET", path), 404, 400, what=path)
        try:
            response = await probe.upgrade(path, token=probe.token)
        except websockets.WebSocketException:
            continue
        probe.expect(response, 404, 400, what=f"a socket at {path}")


# Values


@attack("W37", "read files outside a session's folder")
async def files_outside(probe: Probe) -> str | None:
    probe.expect(await probe.request("GET", "/api/files?path=/etc/passwd"), 404, what="/api/files")
    sessions = (await probe.request("GET", "/api/sessions?limit=1")).json["sessions"]
    if not sessions:
        return "only partly tried: start a session to try the rest"
    id, cwd = sessions[0]["id"], sessions[0]["cwd"]
    bodies: set[bytes] = set()
    for path in (
        "/etc/passwd",
        "/etc/there-is-no-such-file",
        "../..",
        "../no-such",
        f"{cwd}_evil/s",
        "/proc/self/environ",
    ):
        response = await probe.request("GET", f"/api/sessions/{id}/files?path={path}")
        bodies.add(probe.expect(response, 403, what=path).body)
    if len(bodies) > 1:
        raise AttackSucceeded("the response reveals whether a file exists")
    return None


@attack("W38", "upload names with path traversal")
async def upload_names(probe: Probe) -> None:
    for name in ("../../.ssh/authorized_keys", "/etc/x"):
        headers = {
            "content_type": "image/png",
            "content_disposition": f'attachment; filename="{name}"',
            "x_filename": name,
        }
        response = probe.expect(await probe.request("POST", "/api/uploads", PNG, **headers), 201, what=name)
        if name.encode() in response.body or len(response.json["id"]) != 36:
            raise AttackSucceeded(f"the name {name} was used")
    for path in ("/api/uploads/..%2f..%2fetc%2fpasswd", "/api/uploads/%2e%2e"):
        probe.expect(await probe.request("GET", path), 400, 404, what=path)


@attack("W39", "a working folder that is a command, an option or outside the roots")
async def invalid_folders(probe: Probe) -> None:
    for cwd in ('" && id && echo "pwned" # ', "$(id)", "-rf", "/proc/self/root", "/etc/passwd", "/", "a\x00b", ""):
        response = await probe.command("start", cwd=cwd)
        probe.expect(response, 400, 403, what=f"a session in {cwd!r}")


@attack("W40", "a session id that is a command, an option or a path")
async def invalid_ids(probe: Probe) -> None:
    for id in (
        "x; id",
        "--dangerously-skip-permissions",
        "../../x",
        "x" * 300,
        "",
        "11111111-1111-1111-1111-11111111111G",
    ):
        probe.expect(await probe.command("resume", session=id), 400, what=f"the session {id[:20]!r}")
    for id in ("x;id", "--dangerously-skip-permissions", "..%2f..%2fx", "x" * 300):
        probe.expect(await probe.request("GET", f"/api/sessions/{id}"), 400, 404, what=f"the session {id[:20]!r}")


@attack("W41", "switch to bypassPermissions remotely")
async def bypass(probe: Probe) -> str | None:
    response = await probe.command("set_permission_mode", session=UNKNOWN_SESSION, mode="bypassPermissions")
    if response.status == 404:
        return "the mode was enabled when the server was started"
    probe.expect(response, 403, what="bypassPermissions")
    return None


@attack("W42", "a socket that sends no hello, or something else first")
async def before_hello(probe: Probe) -> str | None:
    if (code := await probe.close_code('{"type":"watch"}')) != 4400:
        raise AttackSucceeded(f"another message first was answered with close code {code}")
    if not probe.slow:
        return NOT_WAITED
    async with probe.socket() as socket:
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                await socket.wait_closed()
        except TimeoutError:
            raise AttackSucceeded("a silent socket stays open") from None
        if socket.close_code != 4401:
            raise AttackSucceeded(f"a silent socket was closed with code {socket.close_code}")
    return None


@attack("W43", "invalid event cursors")
async def invalid_cursors(probe: Probe) -> None:
    for after in ("-1", "9e18", "abc", "9223372036854775808", "1.5", "0x10", "1&after=2"):
        response = await probe.request("GET", f"/api/sessions/{UNKNOWN_SESSION}/events?after={after}")
        probe.expect(response, 400, what=f"after={after}")
    hello = '{"type":"hello","protocol":1}'
    for after in ("-1", "9e18", '"abc"', "1.5"):
        subscribe = f'{{"type":"subscribe","session":"{UNKNOWN_SESSION}","after":{after}}}'
        if await probe.close_code(hello, subscribe) != 4400:
            raise AttackSucceeded(f"a subscription after {after} was accepted")


@attack("W44", "reach the server without TLS on an address beyond loopback")
async def plain_http_beyond_loopback(probe: Probe) -> str | None:
    """A socket bound to all addresses also accepts on every other address of 127/8, which needs no second machine."""
    if probe.secure:
        return "the server uses TLS"
    hint = "serve it with --tls-cert and --tls-key, or on 127.0.0.1 without --insecure"
    if not _is_loopback(probe.name):
        raise AttackSucceeded(f"{probe.host} answers without TLS; {hint}")
    other = "127.0.0.2" if probe.name != "127.0.0.2" else "127.0.0.3"
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(other, probe.port)
    except (OSError, TimeoutError):
        return None
    writer.close()
    raise AttackSucceeded(f"the server listens on all addresses without TLS; {hint}")


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@attack("W45", "proxy requests to another server", ABSENT)
async def proxy(probe: Probe) -> None:
    for path in ("/proxy/test@evil.com/x", "/proxy/8080/", "/preview/80"):
        probe.expect(await probe.request("GET", path), 404, what=path)


@attack("W46", "line breaks in paths and headers", "tests of the log cover what is logged")
async def line_breaks(probe: Probe) -> None:
    response = await probe.request("GET", "/a%0d%0ab", user_agent="a%0d%0ab")
    probe.expect(response, 404, 400, what="a path with an encoded line break")
    response = await probe.raw(f"GET /a\rb HTTP/1.1\r\nHost: {probe.host}\r\n\r\n".encode())
    probe.expect(response, 400, what="a path with a carriage return")
    response = await probe.request("GET", "/?x=%0d%0aset-cookie:%20a=b", token="")
    if "set-cookie" in response.headers:
        raise AttackSucceeded("a query string injected a response header")


@attack("W47", "commands in settings", ABSENT)
async def settings(probe: Probe) -> None:
    for path in ("/api/config", "/api/settings", "/api/git/config", "/api/user/git-config", "/api/upgrade"):
        probe.expect(await probe.request("POST", path, {"gitName": "$(id)"}), 404, what=path)


@attack("W48", "learn about the machine with the scope view")
async def machine_details(probe: Probe) -> None:
    token = await probe.device("view")
    listed = (await probe.request("GET", "/api/sessions", token=token)).json["sessions"]
    if found := [session["cwd"] for session in listed if "/" in session["cwd"]]:
        raise AttackSucceeded(f"the list of sessions contains the path {found[0]}")
    async with probe.socket(token) as socket:
        await socket.send('{"type":"hello","protocol":1}')
        if b"/" in str(await socket.recv()).encode():
            raise AttackSucceeded("the answer to hello contains a path")
    for path in ("/api/audit", "/metrics", "/api/devices"):
        probe.expect(await probe.request("GET", path, token=token), 403, what=path)
