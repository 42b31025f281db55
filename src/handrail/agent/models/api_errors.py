"""Failures of HTTP as ModelError. In: an exception, or a status with its headers and body. Out: ModelError."""

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
REACHED_NOBODY = {
    "ECONNREFUSED": "Connection refused: nobody listens there, or a firewall or proxy is in the way",
    "ECONNRESET": "The connection was broken off",
    "ENOTFOUND": "The name of the host is not known",
    "ENETUNREACH": "The network cannot be reached",
    "EHOSTUNREACH": "The host cannot be reached",
    "ETIMEDOUT": "Nobody answered in time",
    "CERT": "The certificate of the host is not accepted",
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
    """Nobody answered. The exception's own text is not used: it may hold an address with a password."""
    code = _code(error)
    known = "The proxy refuses" if type(error).__name__ == "ProxyError" else "The connection failed"
    return ModelError(REACHED_NOBODY.get(code, known), kind=code)


def refusal(status: int, headers: Mapping[str, str], body: bytes, *, hide: Callable[[str], str]) -> ModelError:
    """An answer that is no message."""
    kind, message = _told(body)
    if 300 <= status < 400:
        message = "the API answered with a redirect, which is not followed"
    return ModelError(
        hide(message) or _phrase(status),
        status=status,
        kind=hide(kind) or ERROR_TYPES.get(status, "api_error"),
        retry_after=retry_after_seconds(headers.get("retry-after")),
        request_id=headers.get("request-id", ""),
    )


def stream_error(event: JsonObject, request_id: str, *, hide: Callable[[str], str]) -> ModelError:
    """An `error` event. HTTP had said 200 by then: the status is the one that belongs to the kind."""
    kind, message = _fault(event)
    told = hide(message) or "an error in the middle of the stream"
    return ModelError(told, status=STATUS_OF.get(kind, 500), kind=hide(kind), request_id=request_id)


def _told(body: bytes) -> tuple[str, str]:
    """Kind and message of an error's body; a body that is no JSON is the message."""
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
    """The system's name for what happened, from the exception or what caused it."""
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
