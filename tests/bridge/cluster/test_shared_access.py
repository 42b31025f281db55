"""Two gateways on one NATS: a device that logs in on one is known to both, and revoked on both."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from nats.js.errors import APIError

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.server import Bridge, serve
from handrail.bridge.store.base import SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SqliteValues
from handrail.bridge.web.devices import Access
from handrail.bridge.web.push import Push
from handrail.testing import NatsServer
from tests.bridge.certificate import own_certificate
from tests.bridge.cluster_stage import GATEWAY, PATIENCE, all_machines_known, laid_out, node, with_keys
from tests.bridge.receiver import Receiver, receiving
from tests.bridge.serving import Running
from tests.bridge.web.test_push import Browser

LOOKS = ({"type": "hello", "protocol": 1}, {"type": "watch"}, {"type": "visible", "visible": True})


class Gateways:
    """Two gateways, `a` and `b`, and the NATS server between them."""

    def __init__(self, server: NatsServer, a: Running, b: Running) -> None:
        self.server, self.a, self.b = server, a, b

    async def until(self, gateway: Running, true: Callable[[], Any]) -> None:
        """Wait until a condition holds that depends on the shared values of a gateway."""
        changed = asyncio.Event()
        gateway.bridge.shared_values.on_change.append(lambda *_: changed.set())
        while not true():
            changed.clear()
            await changed.wait()


@asynccontextmanager
async def gateway(folder: Path, name: str, server: NatsServer) -> AsyncGenerator[Running]:
    bridge = Bridge(node(folder, name, server, port=0, **GATEWAY))
    async with serve(bridge) as served:
        yield Running(bridge, served)


@asynccontextmanager
async def two_gateways(folder: Path) -> AsyncGenerator[Gateways]:
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        server = await stack.enter_async_context(NatsServer(folder / "nats", extra=with_keys(folder / "nats")))
        await laid_out(server)
        a, b = [await stack.enter_async_context(gateway(folder, name, server)) for name in ("a", "b")]
        await all_machines_known({"a": a.bridge, "b": b.bridge})
        yield Gateways(server, a, b)


def page_of(gateway: Running, cookies: httpx2.Cookies) -> httpx2.AsyncClient:
    """The page of a gateway in the browser that has these cookies."""
    client = gateway.client(origin=gateway.address)
    client.cookies = cookies
    return client


def cookie_header(cookies: httpx2.Cookies) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


async def open_socket(gateway: Running, page: httpx2.AsyncClient) -> Any:
    """Open the socket of a page, with its cookie and a new ticket."""
    ticket = (await page.post("/api/tickets", json={})).json()["ticket"]
    headers = {"Cookie": cookie_header(page.cookies)}
    protocols = ["handrail.v1", f"ticket.{ticket}"]
    return await gateway.socket(subprotocols=protocols, headers=headers, origin=gateway.address)


async def test_login_on_one_gateway_is_valid_on_the_other(tmp_path: Path):
    async with two_gateways(tmp_path) as on, on.a.browser() as at_a, page_of(on.b, at_a.cookies) as at_b:
        device = on.a.bridge.access.devices()[0]
        await on.until(on.b, lambda: on.b.bridge.access.knows(device))
        assert (await at_b.get("/api/sessions")).status_code == 200
        socket = await open_socket(on.b, at_b)
        await socket.send(json.dumps({"type": "hello", "protocol": 1}))
        assert json.loads(await socket.recv())["type"] == "hello"
        await socket.close()
        assert [one["id"] for one in (await at_b.get("/api/devices")).json()["devices"]] == [device.id]


async def test_ticket_of_one_gateway_opens_a_socket_of_the_other(tmp_path: Path):
    """Something in front of the gateways may send each request to another one."""
    async with two_gateways(tmp_path) as on, on.a.browser() as at_a:
        device = on.a.bridge.access.devices()[0]
        await on.until(on.b, lambda: on.b.bridge.access.knows(device))
        ticket = (await at_a.post("/api/tickets", json={})).json()["ticket"]
        assert on.b.bridge.access.use_ticket(ticket) == device
        assert on.b.bridge.access.use_ticket(ticket) is None


async def test_revocation_on_one_gateway_closes_sockets_of_the_other(tmp_path: Path):
    async with two_gateways(tmp_path) as on, on.a.browser() as at_a, on.b.browser() as at_b:
        device = (await at_a.get("/api/devices")).json()["devices"][0]["id"]
        await on.until(on.b, lambda: on.b.bridge.access.is_valid(device))
        async with await open_socket(on.a, at_a) as socket:
            await socket.send(json.dumps({"type": "hello", "protocol": 1}))
            await socket.recv()
            assert (await at_b.delete(f"/api/devices/{device}")).status_code == 200
            await socket.wait_closed()
            assert socket.close_code == 4401
        answer = await at_a.get("/api/sessions")
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "revoked")


async def test_link_is_used_once_across_gateways(tmp_path: Path):
    async with two_gateways(tmp_path) as on, on.a.client() as at_a, on.b.client() as at_b:
        a, b = on.a.bridge.access, on.b.bridge.access
        for _ in range(20):
            link = await a.make_link(["view"])
            opened = await asyncio.gather(*(access.open_link(link, "a browser") for access in (a, b, a, b)))
            assert sum(one is not None for one in opened) == 1
        link = await a.make_link()
        answers = [await page.post("/api/login", json={"link": link}) for page in (at_b, at_a)]
        assert [answer.status_code for answer in answers] == [200, 401]


async def test_link_made_in_the_data_folder_works_in_a_cluster(tmp_path: Path):
    """`handrail serve --link` writes it into the store of a running gateway."""
    async with two_gateways(tmp_path) as on, on.a.client() as at_a:
        database = Database(tmp_path / "a" / "handrail.db", TABLES)
        link = {"link": await Access(SqliteValues(database)).make_link()}
        await database.close()
        assert [(await at_a.post("/api/login", json=link)).status_code for _ in range(2)] == [200, 401]


async def test_only_hashes_of_secrets_are_stored_on_nats(tmp_path: Path):
    async with two_gateways(tmp_path) as on:
        link, (_, token) = (
            await on.a.bridge.access.make_link(),
            await on.a.bridge.access.add_device("a program", "program", ["view"]),
        )
        written = b"".join(path.read_bytes() for path in (tmp_path / "nats").rglob("*.blk"))
        assert b"a program" in written
        assert link.encode() not in written
        assert token.partition(".")[2].encode() not in written


# Without NATS


async def test_known_devices_stay_valid_without_nats_and_changes_are_refused(tmp_path: Path):
    async with two_gateways(tmp_path) as on, on.a.browser() as at_a:
        link = await on.a.bridge.access.make_link()
        device = (await at_a.get("/api/devices")).json()["devices"][0]["id"]
        await on.until(on.b, lambda: on.b.bridge.access.is_valid(device))
        down = asyncio.Event()
        for one in (on.a, on.b):
            assert one.bridge.cluster is not None
            one.bridge.cluster.link.on_down.append(down.set)
        await on.server.kill()
        await down.wait()
        async with page_of(on.b, at_a.cookies) as at_b:
            assert (await at_b.get("/api/sessions")).status_code == 200
            await (await open_socket(on.b, at_b)).close()
            for request in (
                at_b.post("/api/login", json={"link": link}),
                at_b.post("/api/links", json={}),
                at_b.post("/api/devices", json={"name": "new", "scopes": ["view"]}),
                at_b.delete(f"/api/devices/{device}"),
                at_b.patch(f"/api/devices/{device}", json={"name": "other"}),
            ):
                answer = await request
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "cluster_away")
                assert "NATS does not answer" in answer.json()["error"]["message"]
            assert (await at_b.get("/api/sessions")).status_code == 200
        await on.server.start()


async def test_gateway_restarted_without_nats_accepts_known_devices(tmp_path: Path):
    async with two_gateways(tmp_path) as on:
        _, token = await on.a.bridge.access.add_device("a program", "program", ["view"])
        gone, revoked = await on.a.bridge.access.add_device("another", "program", ["view"])
        await on.until(on.b, lambda: on.b.bridge.access.device(revoked))
        await on.a.bridge.access.revoke(gone.id)
        await on.until(on.b, lambda: not on.b.bridge.access.is_valid(gone.id))
        server = on.server
    async with asyncio.timeout(PATIENCE), gateway(tmp_path, "b", server) as alone:
        async with alone.client(token) as client:
            assert (await client.get("/api/sessions")).status_code == 200
        async with alone.client(revoked) as client:
            assert (await client.get("/api/sessions")).json()["error"]["code"] == "revoked"


async def test_revocation_during_an_outage_is_learned_after_it(tmp_path: Path):
    async with two_gateways(tmp_path) as on:
        device, token = await on.a.bridge.access.add_device("a program", "program", ["view"])
        await on.until(on.b, lambda: on.b.bridge.access.device(token))
        cluster = on.b.bridge.cluster
        assert cluster is not None
        cluster.link.nats.abort()
        await on.a.bridge.access.revoke(device.id)
        await on.until(on.b, lambda: on.b.bridge.access.device(token) is None)
        assert on.b.bridge.access.is_revoked(token)


async def test_devices_from_before_the_cluster_are_published(tmp_path: Path):
    (tmp_path / "a").mkdir()
    database = Database(tmp_path / "a" / "handrail.db", TABLES)
    _, token = await Access(SqliteValues(database)).add_device("old", "program", ["view"])
    await database.close()
    async with two_gateways(tmp_path) as on:
        await on.until(on.b, lambda: on.b.bridge.access.device(token))
        async with on.b.client(token) as client:
            assert (await client.get("/api/sessions")).status_code == 200


async def test_runner_cannot_read_or_write_devices(tmp_path: Path):
    async with two_gateways(tmp_path) as on:
        await on.a.bridge.access.add_device("a program", "program", ["view"])
        [key] = on.a.bridge.shared_values.below("device.")
        subject, stream = names.bucket_subject(names.ACCESS, key), names.bucket_stream(names.ACCESS)
        given = parse_address(on.server.url, credentials=on.server.folder / "runner.nk")
        async with NatsConnection(given, "runner", role="runner") as link:
            await link.until_up(PATIENCE)
            link.js._timeout = 0.5  # pyright: ignore[reportPrivateUsage]
            for work in (
                link.js.get_last_msg(stream, subject),
                link.js.get_last_msg(stream, subject, direct=True),
                link.js.subscribe(subject, stream=stream, ordered_consumer=True),
                link.js.publish(subject, b"{}"),
            ):
                with pytest.raises((APIError, TimeoutError)):
                    await work
        assert on.server.log.count("Publish Violation") == 4


# Notifications


@asynccontextmanager
async def push_service(folder: Path, *gateways: Running) -> AsyncGenerator[Receiver]:
    """A push service on loopback that the gateways may call."""
    certificate, key = own_certificate(folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    for one in gateways:
        push: Any = one.bridge.push
        push._allowed = lambda address: address.is_loopback
        push._verify = ssl.create_default_context(cafile=str(certificate))
    async with receiving(*[201] * 20, tls=tls) as receiver:
        yield receiver


async def subscribe(gateway: Running, push: Push, browser: Browser, endpoint: str) -> None:
    device, _ = await gateway.bridge.access.add_device("a phone", "browser", ["view"])
    await push.subscribe(device.id, endpoint, browser.p256dh, browser.auth)


def finished(id: str, changed: int) -> tuple[SessionRecord, SessionRecord]:
    before = SessionRecord(id=id, cwd="/w", created=1, changed=changed, title="T", state="running")
    return SessionRecord(id=id, cwd="/w", created=1, changed=changed, title="T", state="idle"), before


async def test_subscription_of_one_gateway_is_notified_by_the_other(tmp_path: Path):
    async with two_gateways(tmp_path) as on, push_service(tmp_path, on.a, on.b) as service:
        browser, bridges = Browser(), (on.a.bridge, on.b.bridge)
        endpoint = f"https://localhost:{service.port}/send/abc"
        await subscribe(on.a, on.a.bridge.push, browser, endpoint)
        key = await on.a.bridge.push.public_key()
        await on.until(on.b, lambda: on.b.bridge.shared_values.below("push."))
        on.b.bridge.notifications.changed(*finished("one", 1))
        await on.b.bridge.notifications.settled()
        [request] = service.requests
        assert browser.decrypt(request.body) == {"kind": "finished", "session": "one", "title": "T"}
        assert request.headers["authorization"].endswith(f"k={key}")
        for bridge in bridges:
            bridge.notifications.changed(*finished("one", 2))
        for bridge in bridges:
            await bridge.notifications.settled()
        assert len(service.requests) == 2  # both noticed, one has sent it


async def test_no_notification_while_the_other_gateway_shows_the_session(tmp_path: Path):
    async with (
        two_gateways(tmp_path) as on,
        push_service(tmp_path, on.a, on.b) as service,
        on.a.browser() as at_a,
        await open_socket(on.a, at_a) as socket,
    ):
        await subscribe(on.b, on.b.bridge.push, Browser(), f"https://localhost:{service.port}/send/abc")
        for line in LOOKS:
            await socket.send(json.dumps(line))
        while not on.a.bridge.notifications.shows("one"):
            await socket.recv()
        on.b.bridge.notifications.changed(*finished("one", 1))
        await on.b.bridge.notifications.settled()
        assert service.requests == []


async def test_revoked_device_loses_its_subscriptions_everywhere(tmp_path: Path):
    async with two_gateways(tmp_path) as on:
        browser = Browser()
        await subscribe(on.a, on.a.bridge.push, browser, "https://push.example/x")
        [device] = on.a.bridge.access.devices()
        await on.until(on.b, lambda: on.b.bridge.shared_values.below("push."))
        await on.b.bridge.access.revoke(device.id)
        await on.until(on.a, lambda: not on.a.bridge.shared_values.below("push."))
