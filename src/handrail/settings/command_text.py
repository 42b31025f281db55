"""The files of commands, skills and agents. In: the text of one. Out: what in it runs or grants, and its plain prompt.

A command may run shell lines while its prompt is made (`!` before a command in backticks, or a fence that opens with
"```!"), and its head may grant tools, add hooks or servers, or choose a mode. In an untrusted folder only the prompt
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["body_of", "grants", "plain_prompt", "shell_lines"]

HARMLESS = frozenset({"argument-hint", "color", "description", "name", "version", "when_to_use", "when-to-use"})
"""Keys of a head that only describe. Every other key may change what happens, whether we know it or not."""

_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LOOSE_HEAD = re.compile(r"\A\ufeff?\s*---\s*\n(.*?)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""Readers differ on where a head ends: one that closes at the end of a line is a head to some."""
_KEY = re.compile(r"^([^\s#:][^:\n]*?)[ \t]*:[ \t]*(.*?)[ \t]*\r?$", re.MULTILINE)
_INLINE = re.compile(r"!(?=(`+))")
_FENCE = re.compile(r"^([ \t]*(?:`{3,}|~{3,}))[ \t]*!", re.MULTILINE)


def body_of(text: str) -> str:
    """The text without its head."""
    head = _head(text)
    return text[head.end() :] if head else text.removeprefix("\ufeff")


def _head(text: str) -> re.Match[str] | None:
    return _HEAD.match(text) or _LOOSE_HEAD.match(text)


def plain_prompt(text: str) -> str:
    """What an untrusted command may be: its words. Without the head, and with shell lines as mere quotations."""
    plain, before = text, ""
    while plain != before:  # taking one mark away may uncover another: "!!`x`"
        before, plain = plain, _FENCE.sub(r"\1", _INLINE.sub("", body_of(plain)))
    return plain


def grants(text: str) -> Iterator[tuple[int, str, str]]:
    """What its head changes. Out: line, key and the value as written, with the lines that belong to it."""
    head = _head(text)
    if head is None:
        return
    keys = [*_KEY.finditer(text, head.start(1), head.end(1))]
    for found, following in zip(keys, [*keys[1:], None], strict=True):
        end = head.end(1) if following is None else following.start()
        if found[1].strip("'\"").lower() not in HARMLESS:
            line = text.count("\n", 0, found.start()) + 1
            yield line, found[1], " ".join(text[found.start(2) : end].split())


def shell_lines(text: str) -> Iterator[tuple[int, str]]:
    """What runs while its prompt is made. Out: line and command, as written."""
    offset = len(text) - len(body_of(text))
    found = [*_INLINE.finditer(text, offset), *_FENCE.finditer(text, offset)]
    for mark in sorted(found, key=lambda match: match.start()):
        line = text.count("\n", 0, mark.start()) + 1
        fence = mark[0].strip().rstrip("!").strip()
        closing = mark[1] if mark.re is _INLINE else f"\n{fence}"
        start = mark.end() + (len(mark[1]) if mark.re is _INLINE else 0)
        end = text.find(closing, start)
        yield line, text[start : end if end >= 0 else len(text)].strip()
