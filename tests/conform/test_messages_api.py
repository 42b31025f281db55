"""handrail.conform.messages_api: the scripted API, tested with an HTTP client."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from typing import Any, TypeVar

import httpx2
import pytest

from handrail.agent.models.script import (
    Reply,
    Script,
    Text,
    cut,
    hang,
    http_error,
    reply,
    stream_error,
    text,
    tool_use,
    wait,
)
from handrail.conform.messages_api import Endpoint, ScriptedMessagesApi

T = TypeVar("T")
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]


@pytest.fixture
async def api() -> AsyncIterator[ScriptedMessagesApi]:
    async with ScriptedMessagesApi(Script.of(text("Hello."))) as api:
        yield api


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
        yield http


def body(prompt: str = "hi", **extra: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], "tools": TOOLS, **extra}


async def post(http: httpx2.AsyncClient, endpoint: Endpoint, **extra: Any) -> httpx2.Response:
    return await http.post(f"{endpoint.url}/v1/messages?beta=true", json=body(**extra))


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    """The events of a whole stream, each with the name in its `event:` line checked against its data."""
    found: list[dict[str, Any]] = []
    for part in response.text.removesuffix("\n\n").split("\n\n"):
        name, data = part.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


async def soon(awaitable: Awaitable[T]) -> T:
    async with asyncio.timeout(10):
        return await awaitable


def said(message: dict[str, Any]) -> str:
    return message["content"][0]["text"]


async def test_message_without_streaming_is_one_json_object(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    response = await post(http, api)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.headers["request-id"].startswith("req_")
    assert (said(response.json()), response.json()["stop_reason"]) == ("Hello.", "end_turn")


async def test_streamed_message_is_server_sent_events(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    response = await post(http, api, stream=True)
    assert response.headers["content-type"] == "text/event-stream"
    assert [event["type"] for event in events(response)] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


async def test_requests_are_recorded_with_masked_secrets(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    secret = {"x-api-key": "sk-1", "Authorization": "Bearer sk-2", "Cookie": "sk-3", "anthropic-version": "2023-06-01"}
    await http.post(f"{api.url}/v1/messages", json=body("one"), headers=secret)
    await post(http, api, prompt="title", tools=[])
    assert [request.messages[0]["content"] for request in api.requests] == ["one", "title"]
    assert api.main_requests == api.requests[:1]
    assert "sk-" not in repr(api.requests)
    assert api.requests[0].headers["x-api-key"] == "***"
    assert api.requests[0].headers["anthropic-version"] == "2023-06-01"


async def test_helper_requests_get_the_helper_reply(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script.of(text("one"), helper=reply(text("A title"))))
    answers = [await post(http, endpoint, tools=[]), await post(http, endpoint), await post(http, endpoint)]
    assert [said(each.json()) for each in answers] == ["A title", "one", "The script has run out of replies."]


async def test_without_a_helper_every_request_is_a_main_request(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script((Reply((Text("bare"),)),), helper=None))
    assert said((await post(http, endpoint, tools=[])).json()) == "bare"
    assert (await soon(endpoint.called())).body["tools"] == []


async def test_sessions_have_separate_scripts_requests_and_ids(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    first, second = api.session(Script.of(text("first"))), api.session(Script.of(text("second")))
    answers = [(await post(http, endpoint)).json() for endpoint in (second, first)]
    assert [said(each) for each in answers] == ["second", "first"]
    assert answers[0]["id"] != answers[1]["id"]
    assert (len(first.requests), len(second.requests), api.requests) == (1, 1, [])


async def test_http_error_has_status_type_message_and_headers(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script.of(http_error(529, message="busy", headers={"retry-after": "1"}), text("ok")))
    refused = await post(http, endpoint, stream=True)
    assert (refused.status_code, refused.headers["retry-after"]) == (529, "1")
    assert refused.json() == {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    assert said((await post(http, endpoint)).json()) == "ok"


async def test_stream_error_is_the_last_event_or_the_status_without_streaming(
    api: ScriptedMessagesApi, http: httpx2.AsyncClient
):
    endpoint = api.session(Script.of(reply(text("part"), stream_error(), times=2)))
    streamed, whole = await post(http, endpoint, stream=True), await post(http, endpoint)
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert (streamed.status_code, events(streamed)[-1]) == (200, error)
    assert (whole.status_code, whole.json()) == (529, error)


async def test_cut_stream_ends_early_and_broken_stream_fails_in_the_client(
    api: ScriptedMessagesApi, http: httpx2.AsyncClient
):
    endpoint = api.session(Script.of([text("a"), cut()], [text("a"), cut(broken=True)], [text("a"), cut()]))
    assert events(await post(http, endpoint, stream=True))[-1]["type"] == "content_block_stop"
    with pytest.raises(httpx2.RemoteProtocolError):
        await post(http, endpoint, stream=True)
    with pytest.raises(httpx2.RemoteProtocolError):
        await post(http, endpoint)


async def test_called_waits_for_the_main_request_with_that_number(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    second = asyncio.create_task(api.called(2))
    for prompt, tools in (("one", TOOLS), ("title", []), ("two", TOOLS)):
        assert not second.done()
        await post(http, api, prompt=prompt, tools=tools)
    assert (await soon(second)).messages[0]["content"] == "two"
    assert (await soon(api.called(1))).messages[0]["content"] == "one"


async def test_hang_continues_when_released(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script.of([text("before"), hang(), text("after")]))
    response = asyncio.create_task(post(http, endpoint, stream=True))
    await soon(endpoint.hanging())
    assert not response.done()
    endpoint.release()
    assert events(await response)[-1] == {"type": "message_stop"}


async def test_events_before_a_hang_are_sent_at_once(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script.of([text("before", unfinished=True), hang()]))
    async with http.stream("POST", f"{endpoint.url}/v1/messages", json=body(stream=True)) as response:
        async for line in response.aiter_lines():
            if "before" in line:
                break


async def test_release_before_the_hang_is_not_lost(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script.of([hang(), text("on")]))
    endpoint.release()
    assert said((await post(http, endpoint)).json()) == "on"


async def test_disconnect_is_counted_and_does_not_consume_a_release(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script.of([hang(), text("first")], [hang(), text("second")]))
    leaving = asyncio.create_task(post(http, endpoint, stream=True))
    await soon(endpoint.hanging())
    leaving.cancel()
    await soon(endpoint.dropped())
    endpoint.release()
    assert said((await post(http, endpoint)).json()) == "second"


async def test_waits_and_delays_change_no_content(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoint = api.session(Script.of(reply(wait(0.01), text("a b c"), delay=0.01, times=2)))
    assert len(events(await post(http, endpoint, stream=True))) == 8
    assert said((await post(http, endpoint)).json()) == "a b c"


async def test_many_sessions_stream_at_the_same_time(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    endpoints = [api.session(Script.of([hang(), text(f"I am {number}")])) for number in range(20)]
    async with asyncio.TaskGroup() as group:
        answers = [group.create_task(post(http, endpoint)) for endpoint in endpoints]
        for endpoint in endpoints:
            await soon(endpoint.hanging())
        for endpoint in endpoints:
            endpoint.release()
    assert [said(task.result().json()) for task in answers] == [f"I am {number}" for number in range(20)]


async def test_large_tool_input_arrives_complete(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    content = "ä" * 200_000
    endpoint = api.session(Script.of(reply(tool_use("Write", content=content), chunk=50_000)))
    streamed = events(await post(http, endpoint, prompt="x" * 1_000_000, stream=True))
    pieces = [event["delta"]["partial_json"] for event in streamed if event["type"] == "content_block_delta"]
    assert json.loads("".join(pieces)) == {"content": content}


async def test_token_counts_are_estimated(api: ScriptedMessagesApi, http: httpx2.AsyncClient):
    short, long = [
        (await http.post(f"{api.url}/v1/messages/count_tokens", json=body(prompt))).json()["input_tokens"]
        for prompt in ("hi", "hi" * 1000)
    ]
    assert 0 < short < long
    assert api.requests == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", "/"),
        ("GET", "/v1/messages"),
        ("GET", "/v1/models"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/no-such-session/v1/messages"),
    ],
)
async def test_other_routes_are_not_found(api: ScriptedMessagesApi, http: httpx2.AsyncClient, method: str, path: str):
    response = await http.request(method, api.url + path)
    assert response.status_code == 404
    assert method == "HEAD" or response.json()["error"]["type"] == "not_found_error"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"model": "m"}', b"\xff", b"[" * 100_000])
async def test_invalid_body_is_refused_and_not_recorded(
    api: ScriptedMessagesApi, http: httpx2.AsyncClient, content: bytes
):
    response = await http.post(f"{api.url}/v1/messages", content=content)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
    assert api.requests == []


async def test_closing_ends_open_streams_and_idle_connections_at_once(http: httpx2.AsyncClient):
    async with asyncio.timeout(10):
        async with ScriptedMessagesApi(Script.of([text("a"), hang()])) as api:
            host, port = api.url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            response = asyncio.create_task(post(http, api, stream=True))
            await soon(api.hanging())
        with pytest.raises(httpx2.TransportError):
            await response
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(port))


async def test_closing_ends_all_tasks(http: httpx2.AsyncClient):
    before = asyncio.all_tasks()
    async with asyncio.timeout(10), ScriptedMessagesApi(Script.of(hang())) as api:
        response = asyncio.create_task(post(http, api))
        await soon(api.hanging())
    await asyncio.wait([response])
    assert isinstance(response.exception(), httpx2.TransportError)
    assert asyncio.all_tasks() == before


async def test_session_needs_a_running_api():
    with pytest.raises(RuntimeError, match="async with"):
        ScriptedMessagesApi().session(Script())
