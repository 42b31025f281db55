"""The files of commands, skills and agents. In: the text of one. Out: what in it runs or grants, and its plain prompt.

A command may run shell lines while its prompt is made (`!` before a command in backticks, or a fence that opens with
"```!"), and its head may grant tools, add hooks or servers, or choose a mode. In an untrusted folder only the prompt
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.settings.json_tree import Lines

__all__ = ["body_of", "grants", "plain_prompt", "shell_lines"]

HARMLESS = frozenset({"argument-hint", "color", "description", "name", "version", "when_to_use", "when-to-use"})
"""Keys of a head that only describe. Every other key may change what happens, whether we know it or not."""

_HEAD = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LOOSE_HEAD = re.compile(r"\ufeff?\s*+---[^\S\n]*+\n(.*?)---[ \t]*+(?:\r?\n|\Z)", re.DOTALL)
"""Readers differ on where a head ends: one that closes at the end of a line is a head to some."""
_KEY = re.compile(r"^([^\s#:][^:\n]*+):", re.MULTILINE)
_INLINE = re.compile(r"(?<!!)!++(?=(`++))")
_FENCE = re.compile(r"^([ \t]*+(?:`{3,}+|~{3,}+))(?:[ \t]*+!)++", re.MULTILINE)


def body_of(text: str) -> str:
    """The text without its head."""
    head = _head(text)
    return text[head.end() :] if head else text.removeprefix("\ufeff")


def _head(text: str, start: int = 0) -> re.Match[str] | None:
    return _HEAD.match(text, start) or _LOOSE_HEAD.match(text, start)


def plain_prompt(text: str) -> str:
    """What an untrusted command may be: its words. Without any head, and with shell lines as mere quotations."""
    start, before = 0, ""
    while head := _head(text, start):  # taking one away must not make a head of the next
        start = head.end()
    plain = text[start:]
    while plain != before:  # nor must taking one mark away make another
        before, plain = plain, _FENCE.sub(r"\1", _INLINE.sub("", plain))
    return body_of(plain)


def grants(text: str) -> Iterator[tuple[int, str, str]]:
    """What its head changes. Out: line, key and the value as written, with the lines that belong to it."""
    head = _head(text)
    if head is None:
        return
    lines = Lines(text)
    keys = [*_KEY.finditer(text, head.start(1), head.end(1))]
    for found, end in zip(keys, [*(key.start() for key in keys[1:]), head.end(1)], strict=False):
        name = found[1].strip()
        if name.strip("'\"").lower() not in HARMLESS:
            yield lines.place(found.start())[0], name, " ".join(text[found.end() : end].split())


def shell_lines(text: str) -> Iterator[tuple[int, str]]:
    """What runs while its prompt is made. Out: line and command, as written; what stands in a command is part of it."""
    offset = len(text) - len(body_of(text))
    lines, done = Lines(text), 0
    found = [*_INLINE.finditer(text, offset), *_FENCE.finditer(text, offset)]
    for mark in sorted(found, key=lambda match: match.start()):
        if mark.start() < done:
            continue
        inline = mark.re is _INLINE
        start = mark.end() + (len(mark[1]) if inline else 0)
        end = text.find(mark[1] if inline else f"\n{mark[1].strip()}", start)
        done = end if end >= 0 else len(text)
        yield lines.place(mark.start())[0], text[start:done].strip()
