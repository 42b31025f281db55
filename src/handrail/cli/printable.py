"""Text without terminal control sequences and deceptive characters.

Everything a model, a tool, a file or the wire wrote goes through here on its way to a screen or a page.
"""

from __future__ import annotations

import re

__all__ = ["UNSAFE", "as_json_escapes", "printable"]

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
    "|[\U000e0000-\U000e007f]"
)
"""Controls except tab and newline, marks that turn the direction of text or hide it, lone surrogates. The joiner of
emoji (U+200D) stays."""


def printable(text: str) -> str:
    """The text with everything a terminal might obey written out, as in `\\x1b` or `\\u202e`."""
    return UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text.replace("\r\n", "\n"))


def as_json_escapes(text: str) -> str:
    """The same in JSON's own way of writing characters out, so that JSON stays what it says."""
    return UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("utf-16-be", "surrogatepass").hex(" ", 2).join(("\\u", "")).replace(" ", "\\u")
