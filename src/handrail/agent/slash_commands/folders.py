"""Commands and skills from folders. In: a place that holds them. Out: commands, each with what its head says.

Of an untrusted place only what describes is taken from a head; `!` lines in its texts are mere quotations later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from handrail.agent.markdown import read_folder
from handrail.agent.slash_commands.command import Command
from handrail.agent.sources import Source
from handrail.permissions.rules import split_rules

__all__ = ["commands_in", "skills_in", "texts_of"]

JsonObject = dict[str, Any]


def commands_in(source: Source, folder: str = "commands", *, prefix: str = "") -> Iterator[Command]:
    """The commands of a place: `name.md`, or `group/name.md` as `group:name`."""
    path = source.folder(folder)
    for name, head, body in read_folder(path) if path else ():
        yield _command(f"{prefix}{name}", head, body, source)


def skills_in(source: Source, folder: str = "skills", *, prefix: str = "") -> Iterator[Command]:
    """The skills of a place: `NAME/SKILL.md`. An untrusted one has none: they are made to be loaded unasked."""
    path = source.folder(folder)
    for name, head, body in read_folder(path, "SKILL.md") if path and source.trusted else ():
        if name and ":" not in name and name != ".":
            yield _command(f"{prefix}{name}", head, body, source, folder=os.path.join(path, name))


def _command(name: str, head: JsonObject, body: str, source: Source, *, folder: str = "") -> Command:
    described = head.get("description") or next((line for line in body.splitlines() if line.strip(" #")), "")
    granted = head if source.trusted else {}
    return Command(
        name,
        str(described).strip(" #")[:1000],
        _hint(head.get("argument-hint")),
        body=f"The files of this skill are in {folder}.\n\n{body}" if folder else body,
        trusted=source.trusted,
        grants=texts_of(granted.get("allowed-tools")),
        model="" if granted.get("model") in (None, "inherit") else str(granted["model"]),
        folder=folder,
        source=source.scope,
        for_model=head.get("disable-model-invocation") is not True,
        for_user=head.get("user-invocable") is not False,
    )


def _hint(value: Any) -> str:
    """`[name]` is how people write a hint, and to the head's reader it is a list."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value or "")  # type: ignore[arg-type]


def texts_of(value: Any) -> tuple[str, ...]:
    """A list, or one text with commas, as heads have either."""
    if isinstance(value, str):
        return tuple(split_rules(value))
    return tuple(str(item) for item in value) if isinstance(value, list) else ()  # type: ignore[arg-type]
