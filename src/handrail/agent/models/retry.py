"""What becomes of a ModelError: whether to ask again and when, and what is told in the end. Pure.

In: the error, the attempt, the environment. Out: yes or no, seconds, the words of `api_retry`, and an `ApiFailure`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from handrail.agent.models.base import ModelError, StreamCut

__all__ = [
    "ApiFailure",
    "api_error_text",
    "api_failure",
    "is_prompt_too_long",
    "is_retried",
    "max_retries",
    "retry_after_seconds",
    "retry_delay",
    "retry_word",
]

MAX_RETRIES = 10
FIRST_DELAY = 0.5
LONGEST_DELAY = 32.0
LONGEST_RETRY_AFTER = 300.0
"""A server that asks for more is asked again after this long, lest a wrong header stop the session for a day."""
SPREAD = 0.25
RETRIED = frozenset({401, 408, 409, 429})
RETRIED_KINDS = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
TOO_LONG = re.compile(r"prompt is too long|exceeds? (?:the )?(?:maximum )?context|input is too long", re.IGNORECASE)
NO_CREDIT = re.compile(r"credit balance is too low", re.IGNORECASE)

RETRY_WORDS = {
    401: "authentication_failed",
    402: "billing_error",
    403: "authentication_failed",
    404: "model_not_found",
    413: "invalid_request",
    429: "rate_limit",
    529: "overloaded",
}
FINAL_WORDS = {**RETRY_WORDS, 529: "server_error"}
"""At the end an overload is one more failure of the server, as nobody was reached is."""


class ApiFailure(Struct, frozen=True):
    """What is told when no answer came: the text, and the fields of the assistant line and of the result."""

    text: str
    error: str
    terminal_reason: str
    status: int | None = None
    error_type: str = ""
    connection_failed: bool = False

    def fields(self) -> dict[str, Any]:
        """The fields that the assistant line and the result share; the result always has `api_error_status`."""
        told: dict[str, Any] = {}
        if self.status is not None:
            told["api_error_status"] = self.status
        if self.error_type:
            told["api_error_type"] = self.error_type
        if self.connection_failed:
            told["api_error"] = "connection_failed"
        return told


def max_retries(environment: Mapping[str, str]) -> int:
    """How often a request is repeated. `CLAUDE_CODE_MAX_RETRIES` lowers it."""
    wanted = environment.get("CLAUDE_CODE_MAX_RETRIES", "")
    return min(MAX_RETRIES, int(wanted)) if re.fullmatch(r"[0-9]{1,9}", wanted) else MAX_RETRIES


def is_retried(error: ModelError) -> bool:
    """Whether asking again may help. A stream that was cut counts: what it said so far is thrown away."""
    if error.status is None or isinstance(error, StreamCut):
        return True
    return error.status in RETRIED or error.status >= 500 or error.kind in RETRIED_KINDS


def retry_delay(attempt: int, error: ModelError, *, chance: float = 0.0) -> float:
    """Seconds before attempt 1, 2, …: doubled each time, up to a quarter more by `chance` (0 to 1).

    What the server asks for in `retry-after` is kept to.
    """
    if error.retry_after is not None:
        return min(error.retry_after, LONGEST_RETRY_AFTER)
    doubled = FIRST_DELAY * 2.0 ** min(attempt - 1, 16)
    return min(doubled, LONGEST_DELAY) * (1 + SPREAD * chance)


def retry_after_seconds(header: str | None) -> float | None:
    """The seconds of a `retry-after` header; None where it has none. A date is not read."""
    given = (header or "").strip()
    return float(given) if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", given) else None


def retry_word(error: ModelError) -> str:
    """The `error` of an `api_retry` line."""
    return _word(error, RETRY_WORDS)


def api_failure(error: ModelError, *, host: str = "") -> ApiFailure:
    """The end of a turn without an answer. `host`: where the request went, if that was no default."""
    unreached = error.status is None and not isinstance(error, StreamCut)
    return ApiFailure(
        text=api_error_text(error, host=host),
        error="server_error" if error.status is None else _word(error, FINAL_WORDS),
        terminal_reason=_terminal_reason(error),
        status=error.status,
        error_type="" if error.status is None else error.kind,
        connection_failed=unreached,
    )


def api_error_text(error: ModelError, *, host: str = "") -> str:
    """The text that stands in the conversation in place of an answer."""
    if is_prompt_too_long(error):
        return f"Prompt is too long. {error.message}"
    if error.status == 401:
        return f"API Error: 401 {error.message}. The key was not accepted: check ANTHROPIC_API_KEY."
    if error.status == 413:
        return f"API Error: 413 {error.message}. The request is too large: compact the conversation or drop images."
    if error.status is None:
        code = f" ({error.kind})" if error.kind else ""
        return f"API Error: {error.message}{code}"
    if error.status >= 500:
        whose = f" at {host}" if host else ""
        return f"API Error: {error.status} {error.message}. The fault is the server's{whose}: try again in a while."
    return f"API Error: {error.status} {error.message}"


def is_prompt_too_long(error: ModelError) -> bool:
    """Whether the request had more tokens than the model takes, so that compacting may help."""
    return error.status == 400 and TOO_LONG.search(error.message) is not None


def _word(error: ModelError, words: dict[int, str]) -> str:
    status = error.status
    if status is None:
        return "unknown"
    if NO_CREDIT.search(error.message):
        return "billing_error"
    if is_prompt_too_long(error):
        return "invalid_request"
    return words.get(status, "server_error" if status >= 500 else "unknown")


def _terminal_reason(error: ModelError) -> str:
    if is_prompt_too_long(error):
        return "prompt_too_long"
    return "image_error" if error.status == 413 else "api_error"
