"""Messages for programs."""

from __future__ import annotations

import sys

from handrail.cli.printable import as_json_escapes

__all__ = ["write_json_line"]


def write_json_line(raw: bytes) -> None:
    """Write one line. On a terminal, what it could obey is written as JSON writes it out; the meaning is the same."""
    if sys.stdout.isatty():
        raw = as_json_escapes(raw.decode("utf-8", "replace")).encode()
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()
