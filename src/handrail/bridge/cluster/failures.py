"""What goes wrong with NATS, in our words. In: what nats-py raised. Out: an error of the bridge. Pure."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nats.errors import Error, MaxPayloadError
from nats.js.errors import APIError

from handrail.bridge.errors import BridgeError, ClusterAway, StoreFailed

__all__ = ["conflicts", "in_our_words", "is_missing"]

_CONFLICT: Final = (10071, 10164)
"""Somebody else wrote there meanwhile."""
_MISSING: Final = (10037, 10057)
"""There is no such message."""
_FULL: Final = (10023, 10047, 10077)
"""There is no room for more."""
_TOO_LARGE: Final = 10054


def conflicts(error: APIError) -> bool:
    """Whether what was written would not have been the next one on its subject."""
    return error.err_code in _CONFLICT


def is_missing(error: APIError) -> bool:
    """Whether all is well and the message is just not there."""
    return error.err_code in _MISSING


@contextmanager
def in_our_words(stream: str) -> Generator[None]:
    """ClusterAway for what may be asked again, StoreFailed for what NATS has no room for."""
    try:
        yield
    except (Error, OSError) as error:
        raise _said(stream, error) from error


def _said(stream: str, error: Exception) -> BridgeError:
    if isinstance(error, MaxPayloadError):
        return StoreFailed(Path(stream), "the message is larger than the NATS servers take", lasting=True)
    if not isinstance(error, APIError):
        return ClusterAway(f"{stream}: {str(error) or type(error).__name__}")
    if error.err_code == _TOO_LARGE:
        return StoreFailed(Path(stream), error.description, lasting=True)
    if error.err_code in _FULL:
        failed = StoreFailed(Path(stream), error.description)
        failed.code, failed.lasting = "storage_full", False
        return failed
    return ClusterAway(f"{stream}: {error.description or 'nobody answers'}")
