"""The guard and the admission of devices, at every route and socket."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
import websockets

from handrail.bridge.web import admission, sockets
from handrail.bridge.web.devices import Device
from handrail.bridge.web.guard import HEADERS
from handrail.bridge.web.http.route import Route
from handrail.bridge.web.http.static import page_routes
from handrail.bridge.web.sockets import SocketWire
from tests.bridge.serving import Running, running
from tests.bridge.web.http.api_routes import ROUTES as TABLE

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXAMPLES = {"id": "11111111-2222-3333-4444-555555555555", "seq": "1", "device": "0123456789abcdef"}
ORDER = ("view", "prompt", "approve", "admin")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Running]:
    async with running(tmp_path_factory.mktemp("guard")) as one:
        yield one


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def path_of(route: Route) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: EXAMPLES[found[1]], route.path)


async def refusal(client, route: Route, **options) -> tuple[int, str]:
    answer = await client.request(route.method, path_of(route), **options)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert not [name for name in answer.headers if name.startswith("access-control")]
    return answer.status_code, answer.json()["error"]["code"]


ROUTES = [*TABLE, *(row for row, _ in page_routes(Path(__file__).parent / "no_page"))]
routes = pytest.mark.parametrize("route", ROUTES, ids=name_of)
closed = pytest.mark.parametrize("route", [one for one in ROUTES if one.scope], ids=name_of)


async def test_only_the_page_health_and_login_need_no_login():
    open_ones = {name_of(one) for one in ROUTES if one.scope is None}
    assert open_ones == {"GET /api/health", "POST /api/login", "GET /"}


@closed
async def test_a_route_needs_a_login(server: Running, route: Route):
    async with server.client(origin=server.address) as client:
        assert await refusal(client, route) == (401, "no_login")


@routes
async def test_a_route_answers_to_listed_names_only(server: Running, route: Route):
    async with server.client(await server.same_token(), host="evil.example") as client:
        assert await refusal(client, route) == (421, "wrong_host")


@routes
async def test_a_route_refuses_pages_of_other_origins(server: Running, route: Route):
    async with server.client(await server.same_token(), origin="https://evil.example") as client:
        assert await refusal(client, route) == (403, "wrong_origin")


@routes
async def test_a_route_refuses_what_another_site_loads(server: Running, route: Route):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}
    async with server.client(await server.same_token(), **headers) as client:
        assert await refusal(client, route) == (403, "wrong_site")


@closed
async def test_a_route_needs_its_own_scope(server: Running, route: Route):
    others = [scope for scope in ORDER if scope != route.scope]
    async with server.client(await server.same_token(others)) as client:
        assert await refusal(client, route) == (403, "forbidden")


@closed
async def test_a_route_takes_no_secret_from_its_url(server: Running, route: Route):
    async with server.client() as client:
        assert await refusal(client, route, params={"token": await server.same_token()}) == (401, "secret_in_address")


@pytest.mark.parametrize("route", [one for one in TABLE if one.method != "GET"], ids=name_of)
async def test_a_change_takes_json_only(server: Running, route: Route):
    async with server.client(await server.same_token()) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            found = await refusal(client, route, content=b'{"link":"x"}', headers={"content-type": kind})
            assert found == (415, "bad_type")


@pytest.mark.parametrize("route", [one for one in TABLE if one.method != "GET" and one.scope], ids=name_of)
async def test_a_change_with_a_cookie_must_send_its_origin(server: Running, route: Route):
    async with server.client() as client:
        cookie = f"handrail-{server.port}={await server.same_token()}"
        assert await refusal(client, route, headers={"cookie": cookie}) == (403, "no_origin")


@routes
async def test_a_route_has_no_other_methods(server: Running, route: Route):
    taken = {one.method for one in ROUTES if one.path == route.path} | {"HEAD"}
    async with server.client(await server.same_token(), origin=server.address) as client:
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - taken:
            answer = await client.request(method, path_of(route))
            assert (answer.status_code, answer.json()["error"]["code"]) == (405, "bad_method")


# Sockets

SOCKETS = pytest.mark.parametrize("path", ["/", "/ws"])


async def opened(server: Running, path: str = "/ws", token: str = "", **options) -> int:
    """The status of an attempt to open a socket."""
    try:
        async with server.socket(token, path, **options):
            return 101
    except websockets.InvalidStatus as error:
        return error.response.status_code


@SOCKETS
async def test_a_socket_needs_a_login(server: Running, path: str):
    assert await opened(server, path) == 403
    assert await opened(server, path, origin=server.address) == 401
    assert await opened(server, path, "wrong") == 401


@SOCKETS
async def test_a_socket_answers_to_listed_names_and_pages_only(server: Running, path: str):
    token = await server.token()
    assert await opened(server, path, token) == 101
    for origin in ("https://evil.example", "null", f"{server.address}.evil.example", "http://localhost:1"):
        assert await opened(server, path, token, origin=origin) == 403
    assert await opened(server, f"{path}?token={token}") == 401


async def test_a_refused_socket_is_not_logged(server: Running, caplog: pytest.LogCaptureFixture):
    assert await opened(server, origin="https://evil.example") == 403
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"nonsense\r\n\r\n")
    await reader.read()
    writer.close()
    assert [one for one in caplog.records if not one.name.startswith("websockets.client")] == []


async def test_a_page_needs_a_new_ticket_for_every_socket(server: Running):
    mine, other = await server.token(), await server.token()
    access = server.bridge.access
    cookie = {"headers": {"Cookie": f"handrail-{server.port}={mine}"}, "origin": server.address}
    tickets = {token: access.make_ticket(access.device(token)) for token in (mine, other)}

    def asks(*tickets: str) -> dict:
        return {**cookie, "subprotocols": ["handrail.v1", *(f"ticket.{one}" for one in tickets)]}

    assert await opened(server, **asks()) == 401
    assert await opened(server, **asks("wrong")) == 401
    assert await opened(server, **asks(tickets[other])) == 401
    assert await opened(server, **asks(tickets[mine])) == 101
    assert await opened(server, **asks(tickets[mine])) == 401


async def test_a_socket_needs_the_native_subprotocol(server: Running):
    assert await opened(server, token=await server.token(), subprotocols=None) == 400
    assert await opened(server, token=await server.token(), subprotocols=["chat"]) == 400
    assert await opened(server, "/nothing", await server.token()) == 404


async def test_a_revoked_device_is_disconnected_at_once(server: Running):
    token = await server.token()
    async with server.socket(token) as socket:
        await socket.send('{"type":"hello","protocol":1}')
        await socket.recv()
        await server.bridge.access.revoke(token.partition(".")[0])
        with pytest.raises(websockets.ConnectionClosed) as closed:
            async with asyncio.timeout(5):
                await socket.recv()
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4401, "this device was revoked")


async def test_refusal_names_the_revocation_also_after_a_restart(tmp_path: Path):
    async with running(tmp_path) as server:
        token, browser = await server.token(), await server.token(kind="browser")
        for one in (token, browser):
            await server.bridge.access.revoke(one.partition(".")[0])
        await check_revocation_is_named(server, token, browser)
    async with running(tmp_path) as server:
        await check_revocation_is_named(server, token, browser)


async def check_revocation_is_named(server: Running, token: str, browser: str) -> None:
    id, _, secret = token.partition(".")
    wrong = {f"{id}.{secret[::-1]}", f"{id}.", f"{'0' * 16}.{secret}", f"{id}{secret}", "x" * 500}
    for given, code in [(token, "revoked"), *((one, "no_login") for one in wrong)]:
        async with server.client(authorization=f"Bearer {given}") as client:
            answer = await client.get("/api/sessions")
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, code), given
    async with server.client(origin=server.address, cookie=f"handrail-{server.port}={browser}") as client:
        answer = await client.post("/api/tickets")
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "revoked")
    # A page gets the reason from the ticket above; sockets of revoked devices are refused at the handshake.
    assert [await opened(server, token=given) for given in (token, f"{id}.wrong")] == [401, 401]


async def test_sockets_opened_during_a_revocation_are_closed(server: Running):
    for _ in range(5):
        token = await server.token()
        opening = [asyncio.create_task(end_of_socket(server, token)) for _ in range(5)]
        await server.bridge.access.revoke(token.partition(".")[0])
        assert set(await asyncio.gather(*opening)) <= {401, 4401}


async def end_of_socket(server: Running, token: str) -> int:
    """The status of a refused socket, or the close code of an accepted one."""
    try:
        async with asyncio.timeout(5), server.socket(token) as socket:
            await socket.wait_closed()
            return socket.close_code
    except websockets.InvalidStatus as error:
        return error.response.status_code


async def test_a_frame_over_a_mebibyte_ends_the_socket(server: Running):
    async with server.socket(await server.token()) as socket:
        await socket.send("x" * (1024 * 1024 + 1))
        with pytest.raises(websockets.ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd.code == 1009


async def echo(device: Device, wire: SocketWire) -> None:
    """A dialect that echoes each message with the kind of the device."""
    while (text := await wire.receive()) is not None:
        await wire.send(f"{device.kind} {text}")


@pytest.mark.parametrize("ccpocket", [True, False])
async def test_only_a_ccpocket_token_may_be_part_of_a_url(tmp_path: Path, ccpocket: bool):
    async with running(tmp_path, dialects={"/": echo, "/ws": echo}, ccpocket=ccpocket) as server:
        phone, program = await server.token(kind="ccpocket"), await server.token()
        plain = {"subprotocols": None}
        assert await opened(server, "/", program, **plain) == 101
        assert await opened(server, f"/?token={phone}", **plain) == (101 if ccpocket else 401)
        assert await opened(server, f"/?token={program}", **plain) == 401
        assert await opened(server, "/?token=", **plain) in (401, 403)
        assert await opened(server, f"/?token={phone}", origin="https://evil.example", **plain) in (401, 403)
        assert await opened(server, f"/ws?token={phone}") == 401
        async with server.client() as client:
            assert (await client.get(f"/?token={phone}")).status_code == 401


async def test_a_client_that_sends_too_fast_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sockets, "MESSAGES", (5, 60.0))
    async with running(tmp_path, dialects={"/ws": echo}) as server, server.socket(await server.token()) as socket:
        for _ in range(6):
            await socket.send("x")
        heard = [await socket.recv() for _ in range(5)]
        with pytest.raises(websockets.ConnectionClosed) as closed:
            await socket.recv()
    assert (heard, closed.value.rcvd.code) == (["program x"] * 5, 4429)


async def test_sockets_per_device_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sockets, "MOST_SOCKETS", 1)
    async with running(tmp_path, dialects={"/ws": echo}) as server:
        token = await server.token()
        async with server.socket(token):
            assert await opened(server, token=token) == 429
            assert await opened(server, token=await server.token()) == 101


async def test_sockets_with_a_token_in_the_url_are_limited_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sockets, "MOST_SOCKETS", 1)
    async with running(tmp_path, dialects={"/": echo, "/ws": echo}, ccpocket=True) as server:
        phone = await server.token(["prompt", "approve"], kind="ccpocket")
        async with server.socket(path=f"/?token={phone}", subprotocols=None):
            assert await opened(server, f"/?token={phone}", subprotocols=None) == 429


async def test_requests_are_rate_limited_per_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(admission, "DEVICE_RATE", (3, 60.0))
    async with running(tmp_path) as server:
        async with server.client(await server.token()) as client:
            assert [(await client.get("/api/sessions")).status_code for _ in range(4)] == [200, 200, 200, 429]
        async with server.client(await server.token()) as client:
            assert (await client.get("/api/sessions")).status_code == 200


async def test_routes_without_login_are_rate_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(admission, "OPEN_RATE", (3, 60.0))
    async with running(tmp_path) as server, server.client() as client:
        statuses = [(await client.get(path)).status_code for path in ("/", "/api/health", "/", "/", "/api/health")]
    assert statuses == [200, 200, 200, 429, 429]


async def test_cookies_of_other_servers_of_this_machine_do_not_hide_ours(server: Running):
    name, token = f"handrail-{server.port}", await server.same_token()
    for cookie in (
        f'theirs={{"a": 1, "b": [2]}}; {name}={token}',
        f"a b=c; =; ;; {name}={token}; x",
        f"{name}=of-another-server; {name}={token}",
        f'{name}="{token}"',
    ):
        async with server.client(cookie=cookie) as client:
            assert (await client.get("/api/sessions")).status_code == 200
    for cookie in (f"x{name}={token}", f"{name.upper()}={token}", f"a={name}={token}", name, f"{name}="):
        async with server.client(cookie=cookie) as client:
            assert (await client.get("/api/sessions")).status_code == 401


async def test_secrets_are_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with running(tmp_path, ccpocket=True, dialects={"/": echo, "/ws": echo}) as server:
        token, phone, link = (
            await server.token(),
            await server.token(kind="ccpocket"),
            await server.bridge.access.make_link(),
        )
        async with server.client(token) as client:
            await client.post("/api/login", json={"link": link})
            await client.get("/api/sessions", params={"token": token})
        await opened(server, token=token)
        await opened(server, f"/?token={phone}", subprotocols=None)
        await opened(server, f"/ws?token={token}")
    ours = "\n".join(
        one.getMessage() for one in caplog.records if not one.name.startswith(("websockets.client", "http"))
    )
    assert not [secret for secret in (token, phone, link) if secret in ours]


# Request bodies, heads and internal errors


async def test_body_size_is_limited_by_route(server: Running):
    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(3):
            yield b" " * 512 * 1024

    async with server.client(await server.token()) as client:
        json = {"content-type": "application/json"}
        whole = await client.post("/api/commands", content=b" " * (1024 * 1024 + 1), headers=json)
        assert (whole.status_code, whole.json()["error"]["code"]) == (413, "too_large")
        piecemeal = await client.post("/api/commands", content=pieces(), headers=json)
        assert (piecemeal.status_code, piecemeal.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n", 400),
        ("GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        ("GET //evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\n\r\n", 421),
        ("POST /api/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{{}}", 400),
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: {host}\r\nX: " + "x" * 65536 + "\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: {host}\r\n" + "X: y\r\n" * 129 + "\r\n", 431),
        ("GET /api/health?a=%ff HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        ("GET /api/health%0A HTTP/1.1\r\nHost: {host}\r\n\r\n", 404),
        ("GET /api/health/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 404),
        ("GET /api/sessions/nonsense HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        ("GET /api/health HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: none\r\n\r\n", 200),
    ],
)
async def test_a_malformed_head_gets_a_json_response(server: Running, head: str, status: int):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(head.format(host=server.host).encode())
        answer = (await asyncio.wait_for(reader.read(4096), 5)).decode()
    finally:
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert "content-security-policy: default-src 'none'" in answer
    assert status == 200 or '{"error":{"code":"' in answer


async def test_a_link_to_the_page_works_from_any_site(server: Running):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    async with server.client(**headers) as client:
        assert (await client.get("/")).status_code == 200
        assert (await client.get("/api/health")).status_code == 403


async def test_an_internal_error_is_answered_without_its_details(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    async with running(tmp_path) as server, server.client(await server.token()) as client:
        monkeypatch.delattr(type(server.bridge.sessions.index), "lines")
        answer = await client.get("/api/sessions")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "Traceback" not in answer.text
    assert "AttributeError" in caplog.text


async def test_a_path_that_takes_other_methods_lists_all_of_them(server: Running):
    async with server.client(await server.same_token(), origin=server.address) as client:
        answer = await client.request("PUT", "/api/devices")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
        message = "method not allowed; this path accepts GET, POST"
        assert answer.json() == {"error": {"code": "bad_method", "message": message}}


async def test_responses_are_not_delayed_by_tcp_acknowledgements(server: Running):
    """Without TCP_NODELAY each response takes 40 ms, because head and body are two writes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    loop = asyncio.get_running_loop()
    took: list[float] = []
    for _ in range(20):
        begun = loop.time()
        writer.write(f"GET /api/health HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
        await reader.readuntil(b'{"ok":true}')
        took.append(loop.time() - begun)
    writer.close()
    await writer.wait_closed()
    assert sorted(took)[len(took) // 2] < 0.03
