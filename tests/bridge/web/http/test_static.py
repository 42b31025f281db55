"""Files of the page: exact names, compression and caching."""

from __future__ import annotations

import gzip
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from handrail.bridge.web.http.static import FOR_GOOD, page_routes
from tests.bridge.serving import Running, running

pytestmark = pytest.mark.asyncio(loop_scope="module")
INDEX = "<!doctype html><title>A page</title>"
SCRIPT = "export const word = 1;\n" * 200
PACKED = gzip.compress(SCRIPT.encode())


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Running]:
    folder = tmp_path_factory.mktemp("static")
    page = folder / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text(INDEX)
    (page / "sw.js").write_text(SCRIPT)
    (page / "manifest.webmanifest").write_text("{}")
    (page / "icon.png").write_bytes(b"\x89PNG" + bytes(4000))
    (page / "assets" / "index-BDNNyb_Y.js").write_text(SCRIPT)
    (page / "assets" / "small-DDlmAf5q.css").write_text("a{}")
    (page / "server.py").write_text("secret = 1")
    async with running(folder, page=page) as server:
        yield server


async def test_page_needs_no_login_and_is_revalidated(served: Running):
    async with served.client() as client:
        first = await client.get("/")
        mark = first.headers["etag"]
        again = [await client.get("/", headers={"if-none-match": known}) for known in (mark, f'"x", W/{mark}')]
        head = await client.head("/")
    assert (first.status_code, first.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (first.text, first.headers["cache-control"]) == (INDEX, "no-cache")
    assert [(one.status_code, one.content) for one in again] == [(304, b"")] * 2
    assert (head.status_code, head.content) == (200, b"")


async def test_only_files_with_a_hash_in_their_name_are_cached_for_good(served: Running):
    async with served.client() as client:
        for path in ("/assets/index-BDNNyb_Y.js", "/assets/small-DDlmAf5q.css"):
            assert (await client.get(path)).headers["cache-control"] == FOR_GOOD
        for path in ("/sw.js", "/manifest.webmanifest", "/icon.png"):
            assert (await client.get(path)).headers["cache-control"] == "no-cache"


async def test_text_is_compressed_if_the_client_accepts_gzip(served: Running):
    async with served.client() as client:
        for accepted, packed in (("gzip, br", True), ("*", True), ("br", False), ("gzip;q=0", False), ("", False)):
            answer = await client.get("/sw.js", headers={"accept-encoding": accepted})
            assert answer.text == SCRIPT
            assert (answer.headers.get("content-encoding") == "gzip") is packed
            assert answer.headers["vary"] == "accept-encoding"
            assert int(answer.headers["content-length"]) == (len(PACKED) if packed else len(SCRIPT))
            kept = {"if-none-match": answer.headers["etag"], "accept-encoding": accepted}
            assert (await client.get("/sw.js", headers=kept)).status_code == 304
        for path in ("/icon.png", "/", "/assets/small-DDlmAf5q.css"):
            assert "content-encoding" not in (await client.get(path, headers={"accept-encoding": "gzip"})).headers


@pytest.mark.parametrize(
    "path",
    ["/index.html/", "/server.py", "/page/", "/%2e%2e/app.py", "/favicon.php", "/assets/", "/assets/index-BDNNyb_Yxjs"],
)
async def test_other_paths_are_not_found(served: Running, path: str):
    async with served.client() as client:
        assert (await client.get(path)).status_code == 404


async def test_content_security_policy_requires_trusted_types(served: Running):
    async with served.client() as client:
        policy = (await client.get("/")).headers["content-security-policy"]
    assert "font-src 'self'" in policy
    assert "require-trusted-types-for 'script'; trusted-types handrail" in policy
    assert "unsafe" not in policy


async def test_missing_page_has_a_placeholder_route(tmp_path: Path):
    [(route, _)] = page_routes(tmp_path / "none")
    assert (route.path, route.gives) == ("/", "text/html; charset=utf-8")
