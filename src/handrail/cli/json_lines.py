"""Messages for programs. In: raw lines. Out: the same lines on standard output, byte for byte."""

from __future__ import annotations

import re
import sys

__all__ = ["write_json_line"]

# What JSON may hold unescaped and a terminal would obey or be fooled by.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def write_json_line(raw: bytes) -> None:
    """Write one line. On a terminal, what it could obey is written as JSON writes it out; the meaning is the same."""
    if sys.stdout.isatty():
        text = raw.decode("utf-8", "replace")
        raw = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()
