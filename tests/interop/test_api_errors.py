"""Errors of the Messages API: retries, reports, and the session afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from handrail import AssistantMessage, StreamEvent, TurnFailed, TurnResult
from handrail.schema.system_messages import ApiRetryMessage, ModelFallbackMessage
from handrail.testing import Endpoint, When, cut, http_error, reply, text
from tests.interop.scenario import Model, Talk, of

ONE_RETRY = {"CLAUDE_CODE_MAX_RETRIES": "1"}


async def one_turn(api: Endpoint | None, talk: Talk, **options: Any) -> tuple[TurnResult, list[Any]]:
    """Run one turn. Returns its result and its messages."""
    async with talk(api, **options) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    return turn.result, messages


async def test_overloaded_api_is_retried(model: Model, talk: Talk):
    api = model(http_error(529, times=2), text("finally"))
    result, messages = await one_turn(api, talk)
    retries = of(ApiRetryMessage, messages)
    assert (result.text, result.is_error) == ("finally", False)
    assert [(retry.attempt, retry.error_status) for retry in retries] == [(1, 529), (2, 529)]
    assert len(api.main_requests) == 3


async def test_a_bad_request_fails_the_turn_but_not_the_session(model: Model, talk: Talk):
    better = reply(text("fine again"), when=When(prompt="once more"))
    api = model(better, http_error(400, message="bad thing", when=When(prompt="go")))
    async with talk(api) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
        result = turn.result
        assert (result.is_error, result.message.subtype, result.reason) == (True, "success", "api_error")
        assert result.message.api_error_status == 400
        assert "bad thing" in result.text
        with pytest.raises(TurnFailed, match="bad thing"):
            result.raise_for_error()
        assert (await session.ask("once more")).text == "fine again"
    (said,) = of(AssistantMessage, messages)
    assert (said.is_api_error_message, said.api_error_status, said.model) == (True, 400, "<synthetic>")


async def test_rejected_key_fails_the_turn(model: Model, talk: Talk):
    api = model(http_error(401, message="invalid x-api-key", times=9))
    result, messages = await one_turn(api, talk, variables=ONE_RETRY)
    assert (result.is_error, result.message.api_error_status) == (True, 401)
    assert of(AssistantMessage, messages)[0].error == "authentication_failed"
    assert [retry.max_retries for retry in of(ApiRetryMessage, messages)] == [1]
    assert all("sk-test-not-a-key" not in message.raw.decode() for message in messages)


async def test_unreachable_api_fails_the_turn(model: Model, talk: Talk):
    result, messages = await one_turn(None, talk, variables=ONE_RETRY)
    assert (result.is_error, result.reason) == (True, "api_error")
    assert [retry.error_status for retry in of(ApiRetryMessage, messages)] == [None]


async def test_broken_stream_is_retried(model: Model, talk: Talk):
    api = model([text("half a sen", unfinished=True), cut()], text("a whole sentence"))
    result, messages = await one_turn(api, talk, include_partial_messages=True)
    assert result.text == "a whole sentence"
    assert len(of(ApiRetryMessage, messages)) == 1
    said = [message.text for message in of(AssistantMessage, messages)]
    assert said == ["a whole sentence"]
    starts = [event for event in of(StreamEvent, messages) if event.event.type == "message_start"]
    assert len(starts) == 2


async def test_fallback_model_replaces_an_overloaded_one(model: Model, talk: Talk):
    api = model(http_error(529, times=3), text("from the other"))
    result, messages = await one_turn(api, talk, fallback_model="claude-haiku-4-5")
    (fallback,) = of(ModelFallbackMessage, messages)
    assert result.text == "from the other"
    assert fallback.fallback_model.startswith("claude-haiku-4-5")
    assert api.main_requests[-1].body["model"] == fallback.fallback_model
