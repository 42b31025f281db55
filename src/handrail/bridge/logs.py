"""Log output of the server: one line per record, as text or JSON, with secrets masked."""

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
    """The text with *** in place of links, tickets, tokens and keys."""
    return mask_text(_OURS.sub(lambda found: f"{found['name'] or ''}***", text))


class _Lines(logging.Formatter):
    """Formats a record as exactly one line, so a message cannot forge another one."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = without_secrets(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            text += without_secrets(f": {_described(record.exc_info[1])}")
        if self._as_json:
            line: dict[str, Any] = {"time": when, "level": record.levelname.lower(), "logger": record.name}
            more = {name: value for name, value in record.__dict__.items() if name not in _OWN_FIELDS}
            line |= {"message": text, **{name: without_secrets(str(value)) for name, value in more.items()}}
            return json.dumps(line)
        return f"{when} {record.levelname.lower():<7} {_printable(' '.join(text.split()))}"


def _described(error: BaseException) -> str:
    """The error with the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _printable(text: str) -> str:
    """The text with control characters escaped, so a terminal does not interpret them."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def log_to(stream: TextIO | None = None, *, as_json: bool = False, level: int = logging.WARNING) -> logging.Handler:
    """Log Handrail and its web server to a stream. Returns the handler, so a caller can remove it."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(_Lines(as_json=as_json))
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
    return handler
