"""handrail.agent.models.retry: which failures are retried, when, and how they are reported in the end."""

from __future__ import annotations

import pytest

from handrail.agent.models.base import ModelError, StreamCut
from handrail.agent.models.retry import (
    api_error_text,
    api_failure,
    is_prompt_too_long,
    is_retried,
    max_retries,
    retry_after_seconds,
    retry_delay,
    retry_word,
)

TOO_LONG = ModelError("prompt is too long: 7 tokens > 6 maximum", status=400, kind="invalid_request_error")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529, None])
def test_temporary_failures_are_retried(status: int | None):
    assert is_retried(ModelError("x", status=status))


@pytest.mark.parametrize("status", [300, 307, 400, 401, 402, 403, 404, 413, 422])
def test_lasting_failures_are_not_retried(status: int):
    assert not is_retried(ModelError("x", status=status))


@pytest.mark.parametrize(
    ("status", "says", "expected"),
    [(400, True, True), (529, False, False), (500, None, True), (400, None, False), (401, True, False)],
)
def test_the_server_decides_about_retries_except_of_rejected_keys(status: int, says: bool | None, expected: bool):
    assert is_retried(ModelError("x", status=status, should_retry=says)) == expected


def test_a_cut_stream_is_retried():
    assert is_retried(StreamCut("x"))


@pytest.mark.parametrize(
    ("given", "expected"), [("", 10), ("0", 0), ("1", 1), ("10", 10), ("99", 10), ("-1", 10), ("two", 10), ("٣", 10)]
)
def test_the_environment_lowers_how_often(given: str, expected: int):
    assert max_retries({"CLAUDE_CODE_MAX_RETRIES": given}) == expected
    assert max_retries({}) == 10


def test_delays_double_from_half_a_second_and_end_at_thirty_two():
    error = ModelError("x", status=529)
    assert [retry_delay(attempt, error) for attempt in range(1, 10)] == [0.5, 1, 2, 4, 8, 16, 32, 32, 32]


def test_chance_adds_up_to_a_quarter():
    assert retry_delay(1, ModelError("x"), chance=1.0) == 0.625


def test_retry_after_is_followed_up_to_a_limit():
    assert retry_delay(5, ModelError("x", retry_after=1.0), chance=1.0) == 1.0
    assert retry_delay(1, ModelError("x", retry_after=0.0)) == 0.0
    assert retry_delay(1, ModelError("x", retry_after=1e9)) == 300


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("2", 2.0), (" 1.5 ", 1.5), (None, None), ("", None), ("Wed, 21 Oct", None), ("nan", None), ("-1", None)],
)
def test_retry_after_is_read_as_seconds_or_ignored(header: str | None, seconds: float | None):
    assert retry_after_seconds(header) == seconds


@pytest.mark.parametrize(
    ("status", "while_retrying", "in_the_end"),
    [
        (401, "authentication_failed", "authentication_failed"),
        (402, "billing_error", "billing_error"),
        (404, "model_not_found", "model_not_found"),
        (413, "invalid_request", "invalid_request"),
        (429, "rate_limit", "rate_limit"),
        (500, "server_error", "server_error"),
        (529, "overloaded", "server_error"),
        (400, "unknown", "unknown"),
        (None, "unknown", "server_error"),
    ],
)
def test_each_failure_has_its_error_type(status: int | None, while_retrying: str, in_the_end: str):
    error = ModelError("x", status=status)
    assert (retry_word(error), api_failure(error).error) == (while_retrying, in_the_end)


def test_missing_credit_is_a_billing_error_with_any_status():
    error = ModelError("Your credit balance is too low to access the API", status=400)
    assert api_failure(error).error == "billing_error"


def test_too_long_prompt_has_its_own_reason():
    failure = api_failure(TOO_LONG)
    assert is_prompt_too_long(TOO_LONG)
    assert (failure.error, failure.terminal_reason) == ("invalid_request", "prompt_too_long")
    assert failure.text.startswith("Prompt is too long")


@pytest.mark.parametrize(
    ("status", "reason"), [(400, "api_error"), (413, "image_error"), (500, "api_error"), (None, "api_error")]
)
def test_the_turn_ends_for_the_reason_that_the_status_gives(status: int | None, reason: str):
    assert api_failure(ModelError("x", status=status)).terminal_reason == reason


def test_the_fields_of_a_refusal_and_of_a_failed_connection():
    refused = api_failure(ModelError("no", status=400, kind="invalid_request_error"))
    unreached = api_failure(ModelError("Connection refused", kind="ECONNREFUSED"))
    assert refused.fields() == {"api_error_status": 400, "api_error_type": "invalid_request_error"}
    assert unreached.fields() == {"api_error": "connection_failed"}
    assert api_failure(StreamCut("cut")).fields() == {}


def test_the_text_says_what_happened_and_where():
    assert api_error_text(ModelError("bad", status=400)) == "API Error: 400 bad"
    assert api_error_text(ModelError("refused", kind="ECONNREFUSED")) == "API Error: refused (ECONNREFUSED)"
    assert "gate:8" in api_error_text(ModelError("oops", status=500), host="gate:8")
    assert "ANTHROPIC_API_KEY" in api_error_text(ModelError("no", status=401))
