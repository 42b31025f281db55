"""Path patterns of rules in the notation of gitignore, such as `src/**/*.ts`, matched against names.

A pattern that means a folder means everything in it. The work is bounded by pattern times path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from handrail.permissions.paths.names import fold

__all__ = ["LONGEST_PATTERN", "Pattern", "compile_pattern", "escape", "problem_of"]

LONGEST_PATTERN = 4096
_SPECIAL = re.compile(r"[\\*?\[\]]|\A!|\s\Z")
_PROBLEMS = (
    (re.compile(r"\A\s*\Z"), "it is empty"),
    (re.compile(r"\A!"), "a content cannot begin with `!`: write the opposite rule, or `\\!` for the sign itself"),
    (re.compile("\x00"), "no path contains a NUL"),
    (re.compile(r"\*\*/+\.\.(/|\Z)"), "`**/..` has no meaning"),
    (re.compile(r"\[\[:"), "classes such as `[[:alpha:]]` are not supported"),
)


class Pattern(Struct, frozen=True, gc=False):
    """A pattern ready for use: one part per name, None for `**`; `within` when only what is inside a folder matches."""

    parts: tuple[re.Pattern[str] | None, ...]
    within: bool

    def matches(self, names: Sequence[str]) -> bool:
        """Greedy from the left: after a `**` the earliest fit is enough, since everything below a fit matches too."""
        at = part = back_at = 0
        back_part = -1
        while part < len(self.parts):
            expected = self.parts[part]
            if expected is None:
                part += 1
                back_part, back_at = part, at
            elif at < len(names) and expected.fullmatch(names[at]):
                at, part = at + 1, part + 1
            elif back_part >= 0 and back_at < len(names):
                back_at += 1
                at, part = back_at, back_part
            else:
                return False
        return at < len(names) or not self.within

    def may_match_below(self, names: Sequence[str]) -> bool:
        """Whether it could match something below a folder with these names."""
        for part, name in zip(self.parts, names, strict=False):
            if part is None:
                return True
            if not part.fullmatch(name):
                return False
        return True


@lru_cache(maxsize=4096)
def problem_of(content: str) -> str:
    """Why this content cannot be used as a path pattern; empty if it can."""
    if len(content) > LONGEST_PATTERN:
        return f"it is longer than {LONGEST_PATTERN} characters"
    return next((why for pattern, why in _PROBLEMS if pattern.search(content)), "")


def escape(path: str) -> str:
    """The pattern that means exactly this path."""
    return _SPECIAL.sub(lambda found: "\\" + found[0], path)


@lru_cache(maxsize=4096)
def compile_pattern(text: str, *, anywhere: bool = False, forgiving: bool = False) -> Pattern:
    """Compile a pattern below some folder; `forgiving` ones ignore case and look-alikes.

    `anywhere` lets it begin at any depth. Forgiving, `dir/**` means `dir` too, and a
    class such as `[id]` also the very name `[id]`.
    """
    text = _without_end_spaces(text)
    names = [name for name in text.split("/") if name not in ("", ".")]
    within = not forgiving and (text.endswith("/") or names[-1:] == ["**"])
    while names[-1:] == ["**"]:
        names.pop()
    parts = [None if name == "**" else _part(name, forgiving=forgiving) for name in names]
    if anywhere and parts:
        parts.insert(0, None)
    return Pattern(tuple(parts), within)


def _without_end_spaces(text: str) -> str:
    stripped = text.rstrip(" ")
    return stripped + " " if stripped.endswith("\\") and stripped != text else stripped


def _part(name: str, *, forgiving: bool) -> re.Pattern[str]:
    """One name of a pattern as an expression without backtracking over the match of a `*`."""
    chunks = _chunks(fold(name) if forgiving else name, forgiving=forgiving)
    first, last = chunks[0], chunks[-1]
    if len(chunks) == 1:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>.*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return re.compile(f"{first}{middle}.*{last}", re.DOTALL)


def _chunks(name: str, *, forgiving: bool) -> list[str]:
    """The parts between the stars, as expressions."""
    chunks, at = [""], 0
    while at < len(name):
        sign, step = name[at], 1
        if sign == "*":
            chunks.append("")
        elif sign == "[" and (found := _CLASS.match(name, at)):
            step = len(found[0])
            chunks[-1] += _class(found, forgiving=forgiving)
        elif sign == "\\" and at + 1 < len(name):
            step = 2
            chunks[-1] += re.escape(name[at + 1])
        else:
            chunks[-1] += "." if sign == "?" else re.escape(sign)
        at += step
    return chunks


_CLASS = re.compile(r"\[(?P<negated>[!^]?)(?P<members>\]?(?:\\.|[^\]\\])*)\]", re.DOTALL)
_MEMBER = re.compile(r"\\?(?P<low>.)(?:-\\?(?P<high>[^\]]))?", re.DOTALL)


def _class(found: re.Match[str], *, forgiving: bool) -> str:
    members = ""
    for member in _MEMBER.finditer(found["members"]):
        low, high = member["low"], member["high"] or member["low"]
        if low <= high:
            members += f"{re.escape(low)}-{re.escape(high)}"
    if found["negated"]:
        expression = f"[^{members}]" if members else "."
    else:
        expression = f"[{members}]" if members else "(?!)"
    return f"(?:{expression}|{re.escape(found[0])})" if forgiving else expression
