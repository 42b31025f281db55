"""The WebFetch tool, with a real server on this machine."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Desk
from handrail.agent.tools.html_text import html_to_text
from tests.agent.tools.workplace import call, desk_in

Answer = Callable[[str], bytes]


@asynccontextmanager
async def server(answer: Answer) -> AsyncGenerator[str]:
    """Serve `answer(path)` for every request; yields the base URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(answer(request.split()[1]))
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


def page(body: bytes, kind: str = "text/html", status: str = "200 OK", more: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{more}\r\n"
    )
    return head.encode() + body


def open_desk(tmp_path: Path) -> Desk:
    desk = desk_in(tmp_path)
    desk.private_addresses = True
    return desk


async def test_page_is_converted_to_text_for_the_model(tmp_path: Path):
    asked: list[str] = []

    async def ask(prompt: str) -> str:
        asked.append(prompt)
        return "It says hello."

    desk = open_desk(tmp_path)
    desk.ask_model = ask
    body = b"<title>T</title><script>evil()</script><p>Hello <b>you</b>"
    async with server(lambda path: page(body)) as address:
        outcome = await call(desk, "WebFetch", url=f"{address}/x", prompt="What does it say?")
    assert outcome.content == "It says hello."
    assert "Hello you" in asked[0]
    assert "What does it say?" in asked[0]
    assert "evil" not in asked[0]
    detail = outcome.detail
    assert (detail["code"], detail["codeText"], detail["bytes"], detail["result"]) == (
        200,
        "OK",
        len(body),
        "It says hello.",
    )


async def test_page_text_is_returned_without_a_model(tmp_path: Path):
    async with server(lambda path: page(b"plain", "text/plain")) as address:
        assert (await call(open_desk(tmp_path), "WebFetch", url=address, prompt="p")).content == "plain"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "0.0.0.0", "2130706433"]
)
async def test_private_addresses_are_not_fetched(tmp_path: Path, host: str):
    with pytest.raises(ToolFailed, match="not a public address|cannot be found"):
        await call(desk_in(tmp_path), "WebFetch", url=f"http://{host}:9/", prompt="p")


@pytest.mark.parametrize(
    "url", ["notaurl", "ftp://x/", "file:///etc/passwd", "http://u:p@x/", "http://a b/", "http://[/"]
)
async def test_invalid_urls_are_rejected_by_validation(tmp_path: Path, url: str):
    with pytest.raises(msgspec.ValidationError, match="Invalid URL"):
        await call(desk_in(tmp_path), "WebFetch", url=url, prompt="p")


async def test_redirects_are_followed_on_the_same_host_only(tmp_path: Path):
    def answer(path: str) -> bytes:
        places = {"/one": "/two", "/far": "https://elsewhere.example/x", "/loop": "/loop"}
        if path in places:
            return page(b"", status="302 Found", more=f"location: {places[path]}\r\n")
        return page(path.encode(), "text/plain")

    desk = open_desk(tmp_path)
    async with server(answer) as address:
        assert (await call(desk, "WebFetch", url=f"{address}/one", prompt="p")).content == "/two"
        far = await call(desk, "WebFetch", url=f"{address}/far", prompt="p")
        assert "Redirect URL: https://elsewhere.example/x" in far.content
        assert far.detail["code"] == 302
        with pytest.raises(ToolFailed, match="redirects more than"):
            await call(desk, "WebFetch", url=f"{address}/loop", prompt="p")


async def test_errors_other_types_and_large_pages_are_reported(tmp_path: Path):
    answers = {
        "/missing": page(b"", status="404 Not Found"),
        "/picture": page(b"x", "image/png"),
        "/much": page(b"x" * (10 * 1024 * 1024 + 1), "text/plain"),
    }
    desk = open_desk(tmp_path)
    async with server(lambda path: answers[path]) as address:
        for path, words in (("/missing", "404 Not Found"), ("/picture", "image/png"), ("/much", "larger than 10MB")):
            with pytest.raises(ToolFailed, match=words):
                await call(desk, "WebFetch", url=address + path, prompt="p")


async def test_unreachable_server_is_reported(tmp_path: Path):
    async with server(lambda path: b"") as address:
        pass
    with pytest.raises(ToolFailed, match="could not be fetched"):
        await call(open_desk(tmp_path), "WebFetch", url=address, prompt="p")


def test_html_becomes_markdown():
    html = """<html><head><title>Page</title><style>b{}</style></head><body><h2>Part</h2><p>One
      <a href="https://x.example/">link</a></p><ul><li>a<li>b</ul><pre>  x
  y</pre><script>no</script></body>"""
    assert html_to_text(html) == ("# Page\n\n## Part\n\nOne [link](https://x.example/)\n\n- a\n- b\n\n```\nx\ny\n```")


def test_nested_or_unclosed_hidden_elements_are_dropped():
    assert html_to_text("a<svg><svg>x</svg>y</svg>b<script>c") == "ab"


def test_character_references_are_decoded():
    assert html_to_text("a &amp; b &lt;c&gt;") == "a & b <c>"
