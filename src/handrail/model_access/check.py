"""Checks a key with one small request to its endpoint, before the key is stored or used."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from handrail.model_access.stored import NO_KEY, InvalidAccess, ModelAccess

__all__ = ["AccessRejected", "check_access"]

ANTHROPIC: Final = "https://api.anthropic.com"
VERSION: Final = "2023-06-01"
SMALL_MODEL: Final = "claude-haiku-4-5"
"""Asked where no model is named: the request is one token long."""
SECONDS: Final = 20.0
MOST_BYTES: Final = 64 * 1024
BUSY: Final = frozenset({429, 529})
"""Answers of an API that knows the key and has no time now."""


class AccessRejected(InvalidAccess):
    """The endpoint did not accept the key, or could not be reached."""


async def check_access(
    access: ModelAccess, environment: Mapping[str, str] = os.environ, *, seconds: float = SECONDS
) -> None:
    """Send one request. Raises AccessRejected within `seconds`; the message never contains the key."""
    if access.use == "claude":
        return
    base = access.endpoint or environment.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/") or ANTHROPIC
    try:
        async with asyncio.timeout(seconds):
            status, body = await _post(base, access)
    except TimeoutError:
        raise AccessRejected(f"{base} did not answer within {seconds:g} seconds; check the address") from None
    if problem := _problem(status, base, access):
        detail = _detail(body, access.key)
        raise AccessRejected(f"{problem}: {detail}" if detail else problem)


async def _post(base: str, access: ModelAccess) -> tuple[int, bytes]:
    import httpx2

    key = access.key or NO_KEY
    headers = {"anthropic-version": VERSION, "x-api-key": key, "user-agent": "handrail"}
    if access.endpoint:
        headers["authorization"] = f"Bearer {key}"
    message = {"role": "user", "content": "Hi"}
    question = {"model": access.model or SMALL_MODEL, "max_tokens": 1, "messages": [message]}
    try:
        # A redirect is not followed: it would carry the key to another host.
        async with (
            httpx2.AsyncClient(timeout=None, follow_redirects=False) as client,
            client.stream("POST", f"{base}/v1/messages", json=question, headers=headers) as answer,
        ):
            body = b""
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    break
            return answer.status_code, body[:MOST_BYTES]
    except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
        reason = str(error).replace(key, "***") if key != NO_KEY else str(error)
        raise AccessRejected(f"cannot reach {base}: {reason or type(error).__name__}") from None


def _problem(status: int, base: str, access: ModelAccess) -> str:
    """What a status means, in words; "" if the key works."""
    if status in BUSY or 200 <= status < 300:
        return ""
    if status in (401, 403):
        return f"{base} rejected the key ({status})"
    if status == 404:
        return f"{base} has no Messages API, or no model {access.model or SMALL_MODEL} (404)"
    if 300 <= status < 400:
        return f"{base} redirects elsewhere ({status}); give the address that it leads to"
    return f"{base} answered with {status}"


def _detail(body: bytes, key: str) -> str:
    """The message of an error in the API's form. Other bodies are not shown."""
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    error: Any = cast("dict[str, Any]", found).get("error") if isinstance(found, dict) else None
    message: Any = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else None
    if not isinstance(message, str):
        return ""
    text = " ".join(message.split())[:300]
    return text.replace(key, "***") if key else text
