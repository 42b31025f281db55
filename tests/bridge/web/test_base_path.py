"""A server that a proxy offers under a path: page, API and sockets, whether or not the proxy removes the path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.bridge.addresses import is_base_path
from handrail.bridge.server import PAGE
from tests.bridge.serving import running


@pytest.mark.parametrize("prefix", ["/handrail", ""])
async def test_page_api_and_socket_are_served_under_the_base_path_and_without_it(tmp_path: Path, prefix: str):
    async with running(tmp_path, base_path="/handrail") as server:
        token = await server.token()
        async with server.client(token) as client:
            assert (await client.get(f"{prefix}/")).headers["content-type"].startswith("text/html")
            assert (await client.get(f"{prefix}/api/sessions")).json()["sessions"] == []
        async with server.socket(token, path=f"{prefix}/ws") as wire:
            await wire.send(json.dumps({"type": "hello", "protocol": 1}))
            assert json.loads(await wire.recv())["type"] == "hello"


async def test_the_base_path_without_a_slash_redirects_to_the_page(tmp_path: Path):
    async with running(tmp_path, base_path="/handrail") as server, server.client() as client:
        answer = await client.get("/handrail")
        assert (answer.status_code, answer.headers["location"]) == (308, "/handrail/")


@pytest.mark.parametrize(
    ("path", "status"), [("/handrail//api/health", 400), ("/handrailing/api/health", 404), ("//handrail/", 400)]
)
async def test_other_paths_are_refused(tmp_path: Path, path: str, status: int):
    async with running(tmp_path, base_path="/handrail") as server, server.client(await server.token()) as client:
        assert (await client.get(f"{server.address}{path}")).status_code == status


async def test_links_lead_to_the_base_path_and_cookies_have_their_own_name(tmp_path: Path):
    async with running(tmp_path, base_path="/tools/handrail", names=("https://box.example",)) as server:
        assert server.bridge.configuration.address == "https://box.example/tools/handrail"
        async with server.browser() as client:
            assert list(client.cookies.keys()) == [f"handrail-{server.port}.tools.handrail"]


@pytest.mark.parametrize(
    ("path", "good"),
    [("/handrail", True), ("/a/b", True), ("handrail", False), ("/", False), ("/a//b", False), ("/..", False)],
)
def test_a_base_path_is_a_plain_path(path: str, good: bool):
    assert is_base_path(path) is good


@pytest.mark.skipif(not (PAGE / "index.html").is_file(), reason="the page is not built; run `make page`")
def test_the_built_page_has_relative_addresses_only():
    html = (PAGE / "index.html").read_text()
    assert 'src="./assets/' in html
    assert 'href="/' not in html
    assert 'src="/' not in html
