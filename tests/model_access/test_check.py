"""The request that checks a key, against an API on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from handrail.model_access.check import AccessRejected, check_access
from handrail.model_access.stored import ModelAccess

KEY = "sk-test-0123456789"
Answer = Callable[[dict[str, str], dict[str, Any]], tuple[int, Any]]


@asynccontextmanager
async def api(answer: Answer) -> AsyncGenerator[str]:
    """An API that answers with a status and a body."""

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        status, said = answer({**headers, "line": line}, body)
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        more = "location: http://127.0.0.1:1/\r\n" if status == 307 else ""
        writer.write(f"HTTP/1.1 {status} x\r\n{more}content-length: {len(data)}\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for writer in writers:
            writer.close()
            with suppress(ConnectionError):  # the client has left
                await writer.wait_closed()


def error(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "x", "message": message}}


async def test_accepted_key_was_checked_with_one_small_request():
    asked: list[tuple[dict[str, str], dict[str, Any]]] = []

    def answer(headers: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        asked.append((headers, body))
        return 200, {"type": "message"}

    async with api(answer) as url:
        await check_access(ModelAccess("api", KEY), {"ANTHROPIC_BASE_URL": url})
        await check_access(ModelAccess("api", KEY, url, "m"), {})
        await check_access(ModelAccess("claude"), {})
    (own, own_body), (other, other_body) = asked
    assert (own["line"], own["x-api-key"], "authorization" in own) == ("POST /v1/messages HTTP/1.1", KEY, False)
    assert (other["x-api-key"], other["authorization"], other_body["model"]) == (KEY, f"Bearer {KEY}", "m")
    assert own_body["max_tokens"] == other_body["max_tokens"] == 1


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (401, error("invalid x-api-key"), r"rejected the key \(401\): invalid x-api-key"),
        (403, b"<html>no</html>", r"rejected the key \(403\)$"),
        (404, error("model: m"), r"no Messages API, or no model m \(404\): model: m"),
        (400, error("Your credit balance is too low"), "answered with 400: Your credit balance is too low"),
        (500, {"error": "text"}, "answered with 500$"),
        (307, b"", "redirects elsewhere"),
    ],
)
async def test_rejected_key_is_reported_with_the_reason(status: int, body: Any, problem: str):
    async with api(lambda *_: (status, body)) as url:
        with pytest.raises(AccessRejected, match=problem):
            await check_access(ModelAccess("api", KEY, url, "m"), {})


@pytest.mark.parametrize("status", [429, 529])
async def test_busy_api_has_accepted_the_key(status: int):
    async with api(lambda *_: (status, error("later"))) as url:
        await check_access(ModelAccess("api", KEY, url, "m"), {})


async def test_endpoint_that_repeats_the_key_does_not_bring_it_into_the_error():
    async with api(lambda *_: (401, error(f"bad key {KEY}"))) as url:
        with pytest.raises(AccessRejected) as caught:
            await check_access(ModelAccess("api", KEY, url, "m"), {})
    assert "***" in str(caught.value)
    assert KEY not in str(caught.value)


async def test_endless_answer_is_cut():
    async with api(lambda *_: (401, b"x" * 300_000)) as url:
        with pytest.raises(AccessRejected, match="rejected the key"):
            await check_access(ModelAccess("api", KEY, url, "m"), {})


async def test_silent_endpoint_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are accepted, but never read
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(AccessRejected, match="did not answer within 0.2 seconds"):
            await check_access(ModelAccess("api", KEY, url, "m"), {}, seconds=0.2)


async def test_endpoint_that_is_not_there_is_reported():
    with pytest.raises(AccessRejected, match="cannot reach http://127.0.0.1:9"):
        await check_access(ModelAccess("api", KEY, "http://127.0.0.1:9", "m"), {})
