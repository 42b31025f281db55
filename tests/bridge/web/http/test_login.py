"""Login links, cookies and logout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.serving import running


async def test_link_works_once_and_sets_an_http_only_cookie(tmp_path: Path):
    async with running(tmp_path) as server, server.client(origin=server.address) as client:
        link = await server.bridge.access.make_link(["view"])
        first = await client.post("/api/login", json={"link": link, "name": "my phone"})
        cookie = first.headers["set-cookie"]
        assert cookie.startswith(f"handrail-{server.port}=")
        assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
        assert (first.json()["name"], first.json()["scopes"]) == ("my phone", ["view"])
        assert (await client.get("/api/sessions")).status_code == 200
        second = await client.post("/api/login", json={"link": link})
        assert (second.status_code, second.json()["error"]["code"]) == (401, "bad_link")


async def test_logout_invalidates_the_cookie(tmp_path: Path):
    async with running(tmp_path) as server, server.browser() as browser:
        kept = dict(browser.cookies)
        assert (await browser.post("/api/logout")).status_code == 200
        assert not browser.cookies
        async with server.client(cookie="; ".join(f"{name}={value}" for name, value in kept.items())) as thief:
            assert (await thief.get("/api/sessions")).status_code == 401


async def test_failed_logins_are_rate_limited(tmp_path: Path):
    async with running(tmp_path) as server, server.client() as client:
        for _ in range(3):
            link = await server.bridge.access.make_link()
            assert (await client.post("/api/login", json={"link": link})).status_code == 200
        statuses = [(await client.post("/api/login", json={"link": "guess"})).status_code for _ in range(4)]
        assert statuses == [401, 401, 429, 429]
        answer = await client.post("/api/login", json={"link": "guess"}, headers={"x-forwarded-for": "10.0.0.1"})
        assert (answer.status_code, answer.headers["retry-after"].isdecimal()) == (429, True)


async def test_device_can_make_a_link_for_another(tmp_path: Path):
    async with running(tmp_path) as server, server.client(await server.token()) as client:
        link = (await client.post("/api/links", json={"scopes": ["view", "prompt"]})).json()["link"]
        async with server.client() as other:
            answer = await other.post("/api/login", json={"link": link})
    assert answer.json()["scopes"] == ["prompt", "view"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"link":1}', b'{"link":"x","more":1}', b"\xff", b"[" * 4000]
)
async def test_malformed_login_is_refused(tmp_path: Path, body: bytes):
    async with running(tmp_path) as server, server.client() as client:
        answer = await client.post("/api/login", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_body")


async def test_body_of_a_login_is_limited(tmp_path: Path):
    async with running(tmp_path) as server, server.client() as client:
        answer = await client.post("/api/login", json={"link": "x" * 5000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


async def test_audit_log_names_logins_and_logouts_by_device_id(tmp_path: Path):
    async with running(tmp_path) as server, server.client(origin=server.address) as client:
        for _ in range(2):
            link = await server.bridge.access.make_link(["view"])
            assert (await client.post("/api/login", json={"link": link, "name": "laptop"})).status_code == 200
        assert (await client.post("/api/logout")).status_code == 200
        async with server.client(await server.token()) as admin:
            rows = (await admin.get("/api/audit")).json()["rows"]
    assert [f"{row['what']} {row['by']}" for row in rows] == ["logout laptop", "login laptop", "login laptop"]
    assert (rows[0]["by_device"] == rows[1]["by_device"], rows[1]["by_device"] == rows[2]["by_device"]) == (True, False)
    assert (rows[1]["scopes"], rows[1]["address"]) == (["view"], "127.0.0.1")


async def test_revoking_a_device_invalidates_its_links(tmp_path: Path):
    async with running(tmp_path) as server:
        token = await server.token()
        async with server.client(token) as client:
            link = (await client.post("/api/links", json={})).json()["link"]
        await server.bridge.access.revoke(token.partition(".")[0])
        async with server.client() as thief:
            assert (await thief.post("/api/login", json={"link": link})).status_code == 401
            link = await server.bridge.access.make_link()
            assert (await thief.post("/api/login", json={"link": link})).status_code == 200


async def test_cookie_is_secure_behind_a_tls_proxy(tmp_path: Path):
    proxied = {"host": "box.example", "origin": "https://box.example"}
    async with running(tmp_path, names=("box.example",)) as server, server.client(**proxied) as client:
        answer = await client.post("/api/login", json={"link": await server.bridge.access.make_link()})
    assert "Secure" in answer.headers["set-cookie"].split("; ")


async def test_health_reveals_nothing_else(tmp_path: Path):
    async with running(tmp_path) as server, server.client() as client:
        assert (await client.get("/api/health")).json() == {"ok": True}


async def test_link_has_a_qr_code_if_the_page_sends_its_address(tmp_path: Path):
    async with running(tmp_path) as server, server.browser() as browser:
        plain = (await browser.post("/api/links", json={"scopes": ["view"]})).json()
        assert plain["qr"] == []
        rows = (await browser.post("/api/links", json={"scopes": ["view"], "page": "https://box.example:8443"})).json()[
            "qr"
        ]
        assert len(rows) >= 21
        assert all(len(row) == len(rows) and set(row) <= {"0", "1"} for row in rows)
        assert rows[0].startswith("1111111"), "the finder pattern in the corner"
        assert (await browser.post("/api/links", json={"page": "javascript:alert(1)"})).status_code == 400
