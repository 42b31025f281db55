"""Checks the text of a command for characters that deceive a reader, and shortens it for display."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["deception", "shown_command"]

LONGEST_SHOWN: Final = 400
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TURNS: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u2060-\u2064\u206a-\u206f\u3164\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
_JOINER: Final = re.compile("(?<![\u2600-\U0001ffff\ufe0f])\u200d|\u200d(?![\u2600-\U0001ffff])")
_BLANKS: Final = re.compile(r"[^\S \t\n]")
_LONG_GAP: Final = re.compile(r"[ \t]{200}|\n{40}")
_ESCAPED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_DECEPTIONS: Final = (
    (_CONTROLS, "it contains control characters"),
    (_TURNS, "it contains signs that turn the text around"),
    (_UNSEEN, "it contains invisible characters"),
    (_JOINER, "it contains invisible characters"),
    (_BLANKS, "it contains blanks that do not separate words"),
    (_LONG_GAP, "it contains a gap in which the rest may be overlooked"),
)


def deception(text: str) -> str:
    """Why what is seen of a command may not be what runs; empty if it is."""
    return next((why for pattern, why in _DECEPTIONS if pattern.search(text)), "")


def shown_command(text: str) -> str:
    """The command fit for a screen: short, and with escapes for what cannot be seen."""
    cut = text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
    return _ESCAPED.sub(lambda found: found[0].encode("unicode_escape").decode(), cut)
