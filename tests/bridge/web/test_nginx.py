"""The page, the API, sockets and uploads behind a real nginx, under a base path."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import httpx2
import pytest
import websockets

from tests.bridge.serving import running
from tests.bridge.web.nginx import NGINX, free_port, nginx

pytestmark = [
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt install nginx-light)"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs a second loopback address"),
]
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0"


async def test_page_sockets_and_uploads_work_behind_nginx_under_a_base_path(tmp_path: Path):
    outside = free_port()
    origin = f"http://127.0.0.1:{outside}"
    fields = {"base_path": "/handrail", "names": (origin,), "proxies": ("127.0.0.1",)}
    async with running(tmp_path, **fields) as server, nginx(tmp_path / "nginx", outside, server.port):
        assert server.bridge.configuration.address == f"{origin}/handrail"
        # From another address than nginx has, because entries of a named proxy count.
        elsewhere = httpx2.AsyncHTTPTransport(local_address="127.0.0.2")
        headers = {"origin": origin}
        async with httpx2.AsyncClient(base_url=f"{origin}/handrail", transport=elsewhere, headers=headers) as client:
            page = await client.get(f"{origin}/handrail/")
            assert page.headers["content-type"].startswith("text/html")
            link = await server.bridge.access.make_link()
            login = await client.post("/api/login", json={"link": link}, headers={"x-forwarded-for": "198.51.100.1"})
            assert login.status_code == 200
            rows = (await client.get("/api/audit")).json()["rows"]
            assert [row["address"] for row in rows if row["what"] == "login"] == ["127.0.0.2"]  # not the forged one
            picture = PNG + bytes(3_000_000)  # more than nginx accepts by default
            stored = await client.post("/api/uploads", content=picture, headers={"content-type": "image/png"})
            assert stored.status_code in (200, 201), stored.text
            ticket = (await client.post("/api/tickets", json={})).json()["ticket"]
            cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        offered = [websockets.Subprotocol("handrail.v1"), websockets.Subprotocol(f"ticket.{ticket}")]
        address = f"ws://127.0.0.1:{outside}/handrail/ws"
        async with (
            asyncio.timeout(60),
            websockets.connect(
                address, subprotocols=offered, origin=websockets.Origin(origin), additional_headers={"cookie": cookies}
            ) as wire,
        ):
            await wire.send(json.dumps({"type": "hello", "protocol": 1}))
            assert json.loads(await wire.recv())["type"] == "hello"
