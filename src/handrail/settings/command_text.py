"""The files of commands, skills and agents: what in them runs or grants, and their plain prompt.

A command may run shell lines while its prompt is made (`!` before a command in backticks, or a fence that opens with
"```!"), and its head may grant tools, add hooks or servers, or choose a mode. In an untrusted folder only the prompt
counts, and those keys of the head that describe, limit or choose a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.settings.json_tree import Lines

__all__ = ["body_of", "grants", "is_harmless", "plain_prompt", "shell_lines"]

DESCRIBING = frozenset({"argument-hint", "color", "description", "name", "version", "when_to_use", "when-to-use"})
"""Keys of a head that only describe. Every other key may change what happens, known to us or not."""
LIMITING = frozenset(
    """context disable-model-invocation disallowed-tools disallowedtools effort keep-coding-instructions license
    maxturns model skills tools user-invocable""".split()
)
"""Keys that choose a model, load text, or limit: `tools` of an agent names the tools it is offered, and allows none of
them; `context` moves a command into a subagent, where no call is allowed that needed permission before; `skills` of an
agent adds the text of skills. `agent` does not belong here: an agent of the user may have a more permissive mode.
"""

_HEAD = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LOOSE_HEAD = re.compile(r"\ufeff?\s*+---[^\S\n]*+\n(.*?)---[ \t]*+(?:\r?\n|\Z)", re.DOTALL)
"""Readers differ on where a head ends: some accept one that closes at the end of a line."""
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
    """The words of a command without any head, and with shell lines as quotations: all that counts untrusted."""
    start, before = 0, ""
    while head := _head(text, start):  # removing one must not make a head of the next
        start = head.end()
    plain = text[start:]
    while plain != before:  # nor must removing one mark make another
        before, plain = plain, _FENCE.sub(r"\1", _INLINE.sub("", plain))
    return body_of(plain)


def grants(text: str) -> Iterator[tuple[int, str, str]]:
    """The keys of the head that do more than describe, each with its line and its value as written."""
    head = _head(text)
    if head is None:
        return
    lines = Lines(text)
    keys = [*_KEY.finditer(text, head.start(1), head.end(1))]
    for found, end in zip(keys, [*(key.start() for key in keys[1:]), head.end(1)], strict=False):
        name = found[1].strip()
        if _plain(name) not in DESCRIBING:
            yield lines.place(found.start())[0], name, " ".join(text[found.end() : end].split())


def is_harmless(key: str) -> bool:
    """Whether a key of a head counts in an untrusted folder."""
    return _plain(key) in DESCRIBING | LIMITING


def _plain(key: str) -> str:
    return key.strip("'\"").lower()


def shell_lines(text: str) -> Iterator[tuple[int, str]]:
    """The commands that run while the prompt is made, each with its line. Marks inside a command are part of it."""
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
