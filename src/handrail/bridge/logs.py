"""What a server says about itself. In: log records. Out: lines on a stream, as text or JSON, with no secret in them."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from handrail.transport.masking import mask_text

__all__ = ["log_to", "without_secrets"]

_LOGGERS: Final = ("handrail", "uvicorn", "asyncio")
_OURS: Final = re.compile(
    r"(?P<name>\blink=|\bticket[.=]|\btoken=|[?&](?:key|secret)=)[\w.~%-]+"
    r"|\b[0-9a-f]{16}\.[\w-]{43}(?![\w-])"  # a device's token
)
_OWN_FIELDS: Final = frozenset({*logging.makeLogRecord({}).__dict__, "message", "asctime", "color_message"})


def without_secrets(text: str) -> str:
    """Text with *** where a link, a ticket, a token or a key was."""
    return mask_text(_OURS.sub(lambda found: f"{found['name'] or ''}***", text))


class _Lines(logging.Formatter):
    """One record, one line: whatever stands in it cannot begin another."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = without_secrets(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            text += without_secrets(f": {_told(record.exc_info[1])}")
        if self._as_json:
            told: dict[str, Any] = {"time": when, "level": record.levelname.lower(), "logger": record.name}
            more = {name: value for name, value in record.__dict__.items() if name not in _OWN_FIELDS}
            told |= {"message": text, **{name: without_secrets(str(value)) for name, value in more.items()}}
            return json.dumps(told)
        return f"{when} {record.levelname.lower():<7} {_printable(' '.join(text.split()))}"


def _told(error: BaseException) -> str:
    """What it says, and where in our files it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _printable(text: str) -> str:
    """Nothing that a terminal would obey."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def log_to(stream: TextIO | None = None, *, as_json: bool = False, level: int = logging.WARNING) -> logging.Handler:
    """Write what Handrail and its web server log to a stream. Out: the handler, for whoever wants it away again."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(_Lines(as_json=as_json))
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
    return handler
