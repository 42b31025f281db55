"""What the words of a command say about its output. In: the command. Out: what to expect, and what a code means."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["expects_no_output", "long_sleep", "meaning_of"]

_LONG: Final = 25
"""Seconds of sleep that are no short pause any more."""
_SLEEP: Final = re.compile(
    r"\s*sleep\s+(?P<number>\d+(?:\.\d*)?|\.\d+)(?P<unit>[smhd]?)\s*(?:$|(?:&&|\|\||;|\n)(?P<rest>.*))", re.DOTALL
)
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_BETWEEN: Final = re.compile(r"&&|\|\||[;|\n]")
_SILENT: Final = frozenset("cd chgrp chmod chown cp export ln mkdir mv rm rmdir touch unset wait".split())
_ANSWERS: Final = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), "No matches found"),
    "diff": "Files differ",
    "find": "Some directories were inaccessible",
    **dict.fromkeys(("test", "["), "Condition is false"),
}
"""Programs whose exit code 1 is an answer, no failure."""


def long_sleep(command: str) -> str:
    """Why a command that begins by doing nothing for long is not run; nothing for others."""
    found = _SLEEP.fullmatch(command)
    if found is None or float(found["number"]) * _SECONDS[found["unit"]] < _LONG:
        return ""
    rest = (found["rest"] or "").strip()
    what = f"sleep {found['number']}{found['unit']}"
    return (
        f"Blocked: {f'{what} followed by: {rest}' if rest else f'standalone {what}'}. To wait for a condition, loop "
        "until it holds (`until <check>; do sleep 2; done`). To wait for a command you started, use "
        "run_in_background: true. Do not chain shorter sleeps to get around this."
    )


def expects_no_output(command: str) -> bool:
    """Does it consist of nothing but programs that say nothing when all is well?"""
    return all(word in _SILENT for word in _programs(command))


def meaning_of(command: str, code: int) -> str:
    """What an exit code other than 0 says, where it is no failure."""
    programs = _programs(command)
    return _ANSWERS.get(programs[-1], "") if programs and code == 1 else ""


def _programs(command: str) -> list[str]:
    """The first word of each part, roughly: a wrong guess changes only a remark."""
    return [part.split(None, 1)[0] for part in _BETWEEN.split(command) if part.strip()]
