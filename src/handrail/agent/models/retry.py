"""Retries after a ModelError: whether, when, and how the failure is reported in the end. Pure."""

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
    "is_invalid_request",
    "is_overload",
    "is_prompt_too_long",
    "is_retried",
    "max_retries",
    "reduced_output",
    "retry_after_seconds",
    "retry_delay",
    "retry_word",
]

MAX_RETRIES = 10
FIRST_DELAY = 0.5
LONGEST_DELAY = 32.0
LONGEST_RETRY_AFTER = 300.0
"""Longer `retry-after` values are cut to this, so that a wrong header cannot stop the session for a day."""
SPREAD = 0.25
RETRIED = frozenset({408, 409, 429})
KEY_REJECTED = frozenset({401, 403})
RETRIED_KINDS = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
TOO_LONG = re.compile(r"prompt is too long|exceeds? (?:the )?(?:maximum )?context|input is too long", re.IGNORECASE)
TOO_MUCH_OUTPUT = re.compile(r"exceed context limit: (\d{1,9}) \+ \d{1,9} > (\d{1,9})")
OUTPUT_MARGIN = 1000
SHORTEST_OUTPUT = 3000
"""With fewer tokens left for an answer it is better to compact."""
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
"""In the final report an overload counts as a server error, as an unreachable server does."""


class ApiFailure(Struct, frozen=True):
    """The report of a failed request: the text, and fields of the assistant line and of the result."""

    text: str
    error: str
    terminal_reason: str
    status: int | None = None
    error_type: str = ""
    connection_failed: bool = False

    def fields(self) -> dict[str, Any]:
        """The fields that the assistant line and the result share; the result always has `api_error_status`."""
        fields: dict[str, Any] = {}
        if self.status is not None:
            fields["api_error_status"] = self.status
        if self.error_type:
            fields["api_error_type"] = self.error_type
        if self.connection_failed:
            fields["api_error"] = "connection_failed"
        return fields


"""The conversation fills the window and is not compacted: a request would be refused."""


def max_retries(environment: Mapping[str, str]) -> int:
    """The most retries of a request. `CLAUDE_CODE_MAX_RETRIES` lowers it."""
    wanted = environment.get("CLAUDE_CODE_MAX_RETRIES", "")
    return min(MAX_RETRIES, int(wanted)) if re.fullmatch(r"[0-9]{1,9}", wanted) else MAX_RETRIES


def is_retried(error: ModelError) -> bool:
    """Whether a retry may help. It may after a cut stream, whose events are discarded.

    `x-should-retry` of the server decides first. A rejected key stays rejected, whatever the server says.
    """
    if error.status is None or isinstance(error, StreamCut):
        return True
    if error.status in KEY_REJECTED:
        return False
    if error.should_retry is not None:
        return error.should_retry
    return error.status in RETRIED or error.status >= 500 or error.kind in RETRIED_KINDS


def reduced_output(error: ModelError) -> int:
    """The most tokens of an answer that still fit beside the input, if the API says that both are too long; else 0."""
    found = TOO_MUCH_OUTPUT.search(error.message) if error.status == 400 else None
    if found is None:
        return 0
    left = int(found[2]) - int(found[1]) - OUTPUT_MARGIN
    return left if left >= SHORTEST_OUTPUT else 0


def is_invalid_request(error: ModelError) -> bool:
    """Whether the API calls the request invalid for a reason that may be the API's own."""
    if error.status not in (400, 422) or error.should_retry is not None:
        return False
    return not is_prompt_too_long(error) and not NO_CREDIT.search(error.message)


def is_overload(error: ModelError) -> bool:
    """Whether the model is overloaded, so that another model may answer."""
    return error.status == 529 or error.kind == "overloaded_error"


def retry_delay(attempt: int, error: ModelError, *, chance: float = 0.0) -> float:
    """Seconds before attempt 1, 2, …: doubled each time, up to a quarter more by `chance` (0 to 1).

    A `retry-after` header of the server comes first.
    """
    if error.retry_after is not None:
        return min(error.retry_after, LONGEST_RETRY_AFTER)
    doubled = FIRST_DELAY * 2.0 ** min(attempt - 1, 16)
    return min(doubled, LONGEST_DELAY) * (1 + SPREAD * chance)


def retry_after_seconds(header: str | None) -> float | None:
    """The seconds of a `retry-after` header; None without one. Dates are not supported."""
    given = (header or "").strip()
    return float(given) if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", given) else None


def retry_word(error: ModelError) -> str:
    """The `error` of an `api_retry` line."""
    return _word(error, RETRY_WORDS)


def api_failure(error: ModelError, *, host: str = "") -> ApiFailure:
    """The report of a turn without an answer. `host`: the address of the API, if it is not the default."""
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
    """The text that the conversation shows instead of an answer."""
    if is_prompt_too_long(error):
        return f"Prompt is too long. {error.message}"
    if error.status == 401:
        return (
            f"API Error: 401 {error.message}. The API key was rejected; check ANTHROPIC_API_KEY,"
            " ANTHROPIC_AUTH_TOKEN or the setting apiKeyHelper."
        )
    if error.status == 403:
        return (
            f"API Error: 403 {error.message}. The API key may not do this; check its workspace and rights, and"
            " ANTHROPIC_BASE_URL."
        )
    if error.status == 413:
        return f"API Error: 413 {error.message}. The request is too large; compact the conversation or remove images."
    if error.status is None:
        code = f" ({error.kind})" if error.kind else ""
        return f"API Error: {error.message}{code}"
    if error.status >= 500:
        whose = f" at {host}" if host else ""
        return f"API Error: {error.status} {error.message}. The server{whose} failed; try again later."
    return f"API Error: {error.status} {error.message}"


def is_prompt_too_long(error: ModelError) -> bool:
    """Whether the request has more tokens than the model accepts, so that compaction may help."""
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
