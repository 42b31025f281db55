"""handrail.agent.models.anthropic: requests to the API over HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from handrail.agent.models.anthropic import AnthropicModel
from handrail.agent.models.base import ModelError, ModelRequest, StreamCut
from handrail.testing import Script, ScriptedMessagesApi, hang, text
from tests.agent.models.raw_server import raw_server, response, streamed

KEY = "sk-very-secret-key"
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]
ASKING = ModelRequest("claude-sonnet-5-5", [{"role": "user", "content": "Hello"}], tools=TOOLS)
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def model_at(url: str, **environment: str) -> AnthropicModel:
    return AnthropicModel({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, **environment})


async def events_of(model: AnthropicModel) -> list[dict[str, Any]]:
    async with asyncio.timeout(10), model.stream(ASKING) as answer:
        return [event async for event in answer]


async def failure_of(model: AnthropicModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await events_of(model)
    await model.close()
    return caught.value


def head_of(head: str) -> dict[str, str]:
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in head.splitlines())}


async def test_the_key_the_version_and_custom_headers_are_sent():
    async with raw_server(streamed(STOP)) as server:
        model = model_at(
            f"{server.url}/gateway/",
            ANTHROPIC_AUTH_TOKEN="a-token",
            ANTHROPIC_CUSTOM_HEADERS="X-Team: red\nX-Trace: on\nContent-Length: 1",
        )
        await events_of(model)
        await model.close()
    headers = head_of(server.heads[0])
    assert server.heads[0].startswith("POST /gateway/v1/messages HTTP/1.1\r\n")
    assert (headers["x-api-key"], headers["authorization"]) == (KEY, "Bearer a-token")
    assert (headers["x-team"], headers["x-trace"]) == ("red", "on")
    assert (headers["anthropic-version"], headers["content-type"]) == ("2023-06-01", "application/json")
    assert headers["content-length"] != "1"


async def test_a_connection_is_reused():
    async with raw_server(streamed(STOP)) as server:
        model = model_at(server.url)
        for _ in range(3):
            await events_of(model)
        await model.close()
    assert (len(server.heads), server.connections) == (3, 1)


async def test_a_redirect_is_not_followed():
    async with raw_server([response(b"stolen")]) as elsewhere:
        away = response(b"", status="307 Temporary Redirect", headers=f"location: {elsewhere.url}/v1/messages\r\n")
        async with raw_server([away]) as server:
            error = await failure_of(model_at(server.url))
    assert error.status == 307
    assert "redirect" in error.message
    assert elsewhere.heads == []


async def test_a_key_that_the_server_repeats_is_hidden():
    body = f'{{"error":{{"type":"authentication_error","message":"invalid x-api-key {KEY}"}}}}'.encode()
    async with raw_server([response(body, status="401 Unauthorized")]) as server:
        error = await failure_of(model_at(server.url))
    assert (error.status, error.kind, error.message) == (401, "authentication_error", "invalid x-api-key ***")
    assert KEY not in repr(vars(error))


async def test_a_key_in_an_error_in_the_stream_is_hidden():
    said = f'event: error\ndata: {{"type":"error","error":{{"type":"api_error","message":"{KEY}"}}}}\n\n'.encode()
    async with raw_server(streamed(said)) as server:
        error = await failure_of(model_at(server.url))
    assert (error.status, error.message) == (500, "***")


async def test_the_key_is_not_in_the_repr():
    model = model_at("http://127.0.0.1:9")
    assert KEY not in repr(model.access) + repr(vars(model))


@pytest.mark.parametrize(
    ("body", "message", "kind"),
    [
        (b"<html>Bad gateway</html>", "Bad Gateway", "api_error"),
        (b"upstream\x1b[31m is down", "upstream [31m is down", "api_error"),
        (b"", "Bad Gateway", "api_error"),
        (b'{"error":"plain words"}', "plain words", "api_error"),
        (b'{"error":{"type":7,"message":[]}}', "Bad Gateway", "api_error"),
        (b"[1]", "Bad Gateway", "api_error"),
    ],
)
async def test_an_error_in_any_shape_has_a_message(body: bytes, message: str, kind: str):
    async with raw_server([response(body, status="502 Bad Gateway", headers="request-id: req_1\r\n")]) as server:
        error = await failure_of(model_at(server.url))
    assert (error.status, error.message, error.kind, error.request_id) == (502, message, kind, "req_1")


async def test_a_refused_connection_has_a_reason_and_no_status():
    error = await failure_of(model_at("http://127.0.0.1:9"))
    assert (error.status, error.kind) == (None, "ECONNREFUSED")
    assert not isinstance(error, StreamCut)


async def test_a_server_that_hangs_up_at_once_has_no_status():
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    error = await failure_of(model_at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    server.close()
    assert (error.status, error.kind) == (None, "ECONNRESET")


async def test_a_silent_server_times_out():
    async with ScriptedMessagesApi(Script.of([text("part"), hang()], hang())) as api:
        cut = await failure_of(model_at(api.url, API_TIMEOUT_MS="100"))
    assert isinstance(cut, StreamCut)


async def test_events_cut_anywhere_with_crlf_comments_and_strange_names_are_read():
    stream = (
        b': welcome\r\n\r\nevent: message_start\r\ndata: {"type":\r\ndata: "message_start"}\r\n\r\n'
        b'event: ping\r\ndata: {"type":"ping"}\r\n\r\n'
        b'event: tomorrow\r\ndata: {"type":"tomorrow","x":1}\r\n\r\n'
        b'event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n'
    )
    async with raw_server(streamed(*(stream[at : at + 1] for at in range(len(stream))))) as server:
        model = model_at(server.url)
        events = await events_of(model)
        await model.close()
    assert [event["type"] for event in events] == ["message_start", "tomorrow", "message_stop"]


@pytest.mark.parametrize("data", [b"not json", b"[1]", b'"x"', b"\xff", b"[" * 5000])
async def test_an_invalid_event_cuts_the_stream(data: bytes):
    async with raw_server(streamed(b"event: message_start\ndata: " + data + b"\n\n")) as server:
        error = await failure_of(model_at(server.url))
    assert isinstance(error, StreamCut)


async def test_an_invalid_message_counts_as_cut():
    async with raw_server([response(b"hello")]) as server:
        model = model_at(server.url)
        with pytest.raises(StreamCut):
            await model.whole(ASKING)
        await model.close()


async def test_an_api_that_cannot_count_returns_none():
    async with raw_server([response(b"", status="404 Not Found")]) as server:
        model = model_at(server.url)
        assert await model.count_tokens(ASKING) is None
        await model.close()


async def test_requests_use_the_proxy_unless_the_host_is_excluded():
    async with raw_server(streamed(STOP)) as proxy:
        through = model_at("http://api.invalid", HTTP_PROXY=proxy.url, NO_PROXY="other.invalid")
        await events_of(through)
        await through.close()
        direct = await failure_of(model_at("http://127.0.0.1:9", HTTP_PROXY=proxy.url, NO_PROXY="127.0.0.1,localhost"))
    assert [head.split("\r\n")[0] for head in proxy.heads] == ["POST http://api.invalid/v1/messages HTTP/1.1"]
    assert direct.kind == "ECONNREFUSED"


@pytest.mark.parametrize("proxy", ["gopher://user:hidden@h:1", "http://[::1"])
async def test_an_invalid_proxy_is_reported_without_its_password(proxy: str):
    error = await failure_of(model_at("http://api.invalid", HTTP_PROXY=proxy))
    assert "HTTPS_PROXY" in error.message
    assert "hidden" not in repr(vars(error))


async def test_an_invalid_address_fails_each_request():
    error = await failure_of(model_at("ftp://somewhere"))
    assert (error.status, "ANTHROPIC_BASE_URL" in error.message) == (None, True)


async def test_certificates_that_cannot_be_read_are_named():
    error = await failure_of(model_at("https://127.0.0.1:9", SSL_CERT_FILE="/nowhere/ca.pem"))
    assert "/nowhere/ca.pem" in error.message


async def test_leaving_the_context_ends_the_transfer():
    async with ScriptedMessagesApi(Script.of([text("part"), hang()])) as api, asyncio.timeout(10):
        model = model_at(api.url)
        async with model.stream(ASKING) as answer:
            async for event in answer:
                if event["type"] == "content_block_stop":
                    break
        await api.dropped(1)
        await model.close()


def test_importing_it_loads_no_http_client():
    program = "import handrail.agent.models.anthropic, sys; print('httpx2' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.stdout.strip(), run.stderr) == ("False", "")
