"""The text of a memory file: its head, its comments, and the files it imports with `@`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from handrail.agent.extensions.markdown import split_head

__all__ = ["alternatives", "globs_of", "imports_of", "readable_text"]

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_COMMENT: Final = re.compile(r" {0,3}<!--")
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@((?:[^\s\\]|\\ )+)")
_NAME: Final = re.compile(r"(?:~/|/)?[\w.-]")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_IMPORTS: Final = 100
_MOST_GLOBS: Final = 200


def readable_text(data: bytes) -> tuple[dict[str, Any], str]:
    """The head of a file, and its text without the head and without comments."""
    head, text = split_head(data.decode("utf-8-sig", "replace"))
    return head, _without_comments(text).strip()


def _without_comments(text: str) -> str:
    """Remove HTML comments that begin a line. Those in a line or in a code block are shown to the model."""
    kept: list[str] = []
    lines = text.split("\n")
    at, fence = 0, ""
    while at < len(lines):
        line = lines[at]
        at += 1
        fence = _fence_after(line, fence)
        if fence or not _COMMENT.match(line):
            kept.append(line)
            continue
        end = next((index for index in range(at - 1, len(lines)) if "-->" in lines[index]), None)
        if end is None:
            kept.append(line)
            continue
        if rest := lines[end].partition("-->")[2].strip():
            kept.append(rest)
        at = end + 1
    return "\n".join(kept)


def _fence_after(line: str, fence: str) -> str:
    """The fence of the code block that continues after this line; "" outside of one."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def imports_of(text: str) -> list[str]:
    """The paths that a text imports, in order. Paths in code are examples and are not imported."""
    # Emphasis around a path is not part of it.
    plain = _CODE.sub(" ", "\n".join(_outside_fences(text))).replace("*", " ")
    found = (name.replace("\\ ", " ").partition("#")[0] for name in _IMPORT.findall(plain))
    return list(dict.fromkeys(name for name in found if _NAME.match(name)))[:_MOST_IMPORTS]


def _outside_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        before, fence = fence, _fence_after(line, fence)
        if not before and not fence:
            yield line


def globs_of(head: dict[str, Any]) -> tuple[str, ...]:
    """The patterns of `paths`: a list, or one line with commas outside of braces."""
    given: Any = head.get("paths")
    texts = cast("list[Any]", given) if isinstance(given, list) else [given]
    found = [part for text in texts if isinstance(text, str) for part in _split(text)]
    return tuple(dict.fromkeys(found))[:_MOST_GLOBS]


def _split(text: str) -> list[str]:
    parts = re.split(r",(?![^{}]*\})", text)
    return [stripped for part in parts if (stripped := part.strip().strip("\"'"))]


def alternatives(glob: str) -> list[str]:
    """The patterns that the braces of one pattern stand for, within a limit."""
    done, waiting = list[str](), [glob]
    while waiting and len(done) < _MOST_GLOBS:
        each = waiting.pop()
        if (braces := _BRACES.search(each)) is None:
            done.append(each)
        else:
            words = braces[1].split(",")[:_MOST_GLOBS]
            waiting += [each[: braces.start()] + word + each[braces.end() :] for word in words][:_MOST_GLOBS]
    return done
