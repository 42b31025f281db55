"""Translates errors of nats-py into errors of the bridge."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nats.errors import Error, MaxPayloadError
from nats.js.errors import APIError

from handrail.bridge.errors import BridgeError, ClusterAway, StoreFailed

__all__ = ["conflicts", "is_missing", "translate_errors"]

# Error codes of the JetStream API (errors.json of nats-server).
_CONFLICT: Final = (10071, 10164)
"""Wrong last sequence: another message was stored on the subject."""
_MISSING: Final = (10037, 10057)
"""No message found."""
_FULL: Final = (10023, 10047, 10077)
"""Insufficient resources, no storage left, stream limit reached."""
_TOO_LARGE: Final = 10054
"""The message exceeds the stream's maximum message size."""


def conflicts(error: APIError) -> bool:
    """Whether a publish was rejected because its expected last sequence is outdated."""
    return error.err_code in _CONFLICT


def is_missing(error: APIError) -> bool:
    """Whether the requested message does not exist, as opposed to a stream that is missing or unavailable."""
    return error.err_code in _MISSING


@contextmanager
def translate_errors(stream: str) -> Generator[None]:
    """Raise ClusterAway for errors worth a retry, StoreFailed for messages that NATS cannot store."""
    try:
        yield
    except (Error, OSError) as error:
        raise _translated(stream, error) from error


def _translated(stream: str, error: Exception) -> BridgeError:
    if isinstance(error, MaxPayloadError):
        return StoreFailed(Path(stream), "message exceeds max_payload of the NATS servers", lasting=True)
    if not isinstance(error, APIError):
        return ClusterAway(f"{stream}: {str(error) or type(error).__name__}")
    if error.err_code == _TOO_LARGE:
        return StoreFailed(Path(stream), error.description, lasting=True)
    if error.err_code in _FULL:
        failed = StoreFailed(Path(stream), error.description)
        failed.code, failed.lasting = "storage_full", False
        return failed
    return ClusterAway(f"{stream}: {error.description or 'no response'}")
