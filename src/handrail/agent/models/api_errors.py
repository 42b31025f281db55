"""Turns failed HTTP requests into ModelError: exceptions, refusals with a status, and `error` events of a stream."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from handrail.agent.models.base import JsonObject, ModelError
from handrail.agent.models.error_types import ERROR_TYPES, STATUS_OF
from handrail.agent.models.retry import retry_after_seconds

__all__ = ["refusal", "stream_error", "unreached"]

LONGEST_TEXT = 2000
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
UNREACHABLE = {
    "ECONNREFUSED": "Connection refused: no server is listening there, or a firewall or proxy blocks it",
    "ECONNRESET": "The connection was closed",
    "ENOTFOUND": "The host name cannot be resolved",
    "ENETUNREACH": "The network cannot be reached",
    "EHOSTUNREACH": "The host cannot be reached",
    "ETIMEDOUT": "The server did not answer in time",
    "CERT": "The certificate of the host is invalid",
}
BY_CLASS = {
    "ConnectTimeout": "ETIMEDOUT",
    "ReadTimeout": "ETIMEDOUT",
    "WriteTimeout": "ETIMEDOUT",
    "PoolTimeout": "ETIMEDOUT",
    "ReadError": "ECONNRESET",
    "WriteError": "ECONNRESET",
    "RemoteProtocolError": "ECONNRESET",
}


def unreached(error: Exception) -> ModelError:
    """The error for a request without a response. The exception's text may contain a password, so it is not used."""
    code = _code(error)
    known = "The proxy refuses" if type(error).__name__ == "ProxyError" else "The connection failed"
    return ModelError(UNREACHABLE.get(code, known), kind=code)


def refusal(status: int, headers: Mapping[str, str], body: bytes, *, hide: Callable[[str], str]) -> ModelError:
    """The error for a response with another status than 200."""
    kind, message = _told(body)
    if 300 <= status < 400:
        message = "the API answered with a redirect, which is not followed"
    return ModelError(
        hide(message) or _phrase(status),
        status=status,
        kind=hide(kind) or ERROR_TYPES.get(status, "api_error"),
        retry_after=retry_after_seconds(headers.get("retry-after")),
        should_retry={"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower()),
        request_id=headers.get("request-id", ""),
    )


def stream_error(event: JsonObject, request_id: str, *, hide: Callable[[str], str]) -> ModelError:
    """The error for an `error` event. The HTTP status was 200, so the status is derived from the error type."""
    kind, message = _fault(event)
    told = hide(message) or "an error in the middle of the stream"
    return ModelError(told, status=STATUS_OF.get(kind, 500), kind=hide(kind), request_id=request_id)


def _told(body: bytes) -> tuple[str, str]:
    """Error type and message of a body; a body that is not JSON is the message itself."""
    try:
        return _fault(msgspec.json.decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        text = body.decode("utf-8", "replace").strip()
        return "", "" if text.startswith("<") else _short(text)


def _fault(body: Any) -> tuple[str, str]:
    error: Any = cast("JsonObject", body).get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        return "", _short(error)
    fault = cast("JsonObject", error) if isinstance(error, dict) else {}
    kind, message = fault.get("type"), fault.get("message")
    return kind if isinstance(kind, str) else "", _short(message) if isinstance(message, str) else ""


def _short(text: str) -> str:
    return CONTROL.sub(" ", text[:LONGEST_TEXT])


def _phrase(status: int) -> str:
    from http import HTTPStatus

    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "error"


def _code(error: BaseException) -> str:
    """The errno name of the exception or of its cause."""
    seen: BaseException | None = error
    for _ in range(8):
        if seen is None:
            break
        if isinstance(seen, ssl.SSLError):
            return "CERT" if isinstance(seen, ssl.SSLCertVerificationError) else "EPROTO"
        if isinstance(seen, socket.gaierror):
            return "ENOTFOUND"
        if isinstance(seen, OSError) and (name := errno.errorcode.get(seen.errno or 0)):
            return "ECONNRESET" if name == "EPIPE" else name
        seen = seen.__cause__ or seen.__context__
    return BY_CLASS.get(type(error).__name__, "")
