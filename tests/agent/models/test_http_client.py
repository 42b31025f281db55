"""handrail.agent.models.http_client: what is sent, and how answers are read."""

from __future__ import annotations

import gzip
import zlib
from base64 import b64decode

import pytest

from handrail.agent.models.api_access import api_access
from handrail.agent.models.base import ModelError, StreamCut
from handrail.agent.models.http_client import HttpClient
from tests.agent.models.raw_server import raw_server, response

TEXT = b"Twelve words that are said again and again. " * 100


async def body_of(url: str, **environment: str) -> bytes:
    client = HttpClient(api_access({"ANTHROPIC_BASE_URL": url, **environment}))
    try:
        answer = await client.send("POST", "/v1/messages", {"X-Team": "red"}, b"{}")
        try:
            return await answer.first(1_000_000)
        finally:
            await answer.close()
    finally:
        await client.close()


def fields_of(head: str) -> dict[str, str]:
    lines = head.strip().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "identity"])
async def test_packed_answers_are_unpacked(encoding: str):
    pack = {"identity": bytes, "deflate": zlib.compress}.get(encoding, gzip.compress)
    whole = response(pack(TEXT), headers=f"content-encoding: {encoding}\r\n")
    async with raw_server([whole[:300], whole[300:]]) as server:
        assert await body_of(server.url) == TEXT


async def test_a_body_that_cannot_be_unpacked_is_a_cut_stream():
    async with raw_server(
        [response(b"not packed", headers="content-encoding: gzip\r\nrequest-id: req_7\r\n")]
    ) as server:
        with pytest.raises(StreamCut) as caught:
            await body_of(server.url)
    assert caught.value.request_id == "req_7"


async def test_name_and_password_of_the_address_are_sent_as_a_header_only():
    async with raw_server([response(b"ok")]) as server:
        await body_of(server.url.replace("://", "://me:p%40ss@") + "/gate%20way")
    fields = fields_of(server.heads[0])
    assert server.heads[0].startswith("POST /gate%20way/v1/messages HTTP/1.1\r\n")
    assert "@" not in fields["host"]
    kind, _, pair = fields["authorization"].partition(" ")
    assert (kind, b64decode(pair)) == ("Basic", b"me:p@ss")


async def test_the_proxy_gets_its_own_password():
    async with raw_server([response(b"ok")]) as proxy:
        await body_of("http://api.invalid", HTTP_PROXY=proxy.url.replace("://", "://you:hidden@"))
    assert b64decode(fields_of(proxy.heads[0])["proxy-authorization"].partition(" ")[2]) == b"you:hidden"


@pytest.mark.parametrize("url", ["http://bücher.invalid", "http://[::1]:9", "http://api.invalid:9"])
async def test_hosts_of_every_form_can_be_named(url: str):
    async with raw_server([response(b"ok")]) as proxy:
        await body_of(url, HTTP_PROXY=proxy.url)
    host = url.removeprefix("http://").replace("bücher", "xn--bcher-kva")
    assert fields_of(proxy.heads[0])["host"] == host


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://", "http://h:port"])
async def test_a_proxy_that_cannot_be_used_is_refused(proxy: str):
    with pytest.raises(ModelError, match="check HTTPS_PROXY"):
        await body_of("http://api.invalid", HTTP_PROXY=proxy)
