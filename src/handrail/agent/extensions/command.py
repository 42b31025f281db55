"""Commands and skills, and reading them from folders.

Those of an untrusted place are text: their heads grant no tools, and their `!` lines are quotations that do not run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from handrail.agent.extensions.markdown import read_folder, without_powers
from handrail.agent.extensions.sources import Source
from handrail.permissions.rules.rule import split_rules

__all__ = ["Command", "commands_in", "described", "skills_in", "texts_of"]

JsonObject = dict[str, Any]
_POWERS: Final = frozenset({"allowed-tools", "hooks"})
"""Keys of a head for which the user is asked before the model loads the file. As in the CLI, other keys are not."""


class Command(Struct, frozen=True):
    """One command: answered by the agent itself (`local`), a prompt for the model (`body`), or a server's prompt.

    trusted   its `!` lines run, and the head of its file grants tools
    grants    allow rules for the turn it starts
    folder    the folder of a skill's files
    harmless  the head of its file neither grants tools nor adds hooks
    hidden    it works but is not listed
    forks     it runs in a subagent (`context: fork`), of the kind `agent` if there is such a kind
    """

    name: str
    description: str = ""
    hint: str = ""
    local: bool = False
    body: str | None = None
    builtin: bool = False
    hidden: bool = False
    trusted: bool = False
    grants: tuple[str, ...] = ()
    model: str = ""
    folder: str = ""
    harmless: bool = False
    source: str = ""
    for_model: bool = True
    """Whether the model may load the skill by itself."""
    for_user: bool = True
    forks: bool = False
    agent: str = ""
    when: str = ""
    """When the model should load it."""
    has_description: bool = True
    """False if its description is only the beginning of its text."""

    @property
    def is_skill(self) -> bool:
        """Whether it comes from a SKILL.md."""
        return bool(self.folder)


def described(command: Command) -> JsonObject:
    """The entry of a command in lists for the host."""
    entry: JsonObject = {
        "name": command.name,
        "description": command.description,
        "argumentHint": command.hint,
    }
    return {**entry, "builtin": True} if command.builtin or command.local else entry


def commands_in(source: Source, folder: str = "commands", *, prefix: str = "") -> Iterator[Command]:
    """The commands of a place: `name.md`, or `group/name.md` as `group:name`."""
    path = source.folder(folder)
    for name, head, body in read_folder(path) if path else ():
        yield _command(f"{prefix}{name}", head, body, source)


def skills_in(source: Source, folder: str = "skills", *, prefix: str = "") -> Iterator[Command]:
    """The skills of a place: `NAME/SKILL.md`."""
    path = source.folder(folder)
    for name, head, body in read_folder(path, "SKILL.md") if path else ():
        if name and ":" not in name and name != ".":
            yield _command(f"{prefix}{name}", head, body, source, folder=os.path.join(path, name))


def _command(name: str, head: JsonObject, body: str, source: Source, *, folder: str = "") -> Command:
    harmless = not _POWERS & head.keys()
    head = head if source.trusted else without_powers(head)
    about = head.get("description") or next((line for line in body.splitlines() if line.strip(" #")), "")
    when = str(head.get("when_to_use") or head.get("when-to-use") or "")[:1000]
    return Command(
        name,
        str(about).strip(" #")[:1000],
        _hint(head.get("argument-hint")),
        body=body,
        trusted=source.trusted,
        grants=texts_of(head.get("allowed-tools")),
        model="" if head.get("model") in (None, "inherit") else str(head["model"]),
        folder=folder,
        harmless=harmless,
        source=source.scope,
        for_model=head.get("disable-model-invocation") is not True,
        for_user=head.get("user-invocable") is not False,
        forks=head.get("context") == "fork",
        agent=str(head.get("agent") or ""),
        when=when,
        has_description=bool(head.get("description") or when),
    )


def _hint(value: Any) -> str:
    """A hint such as `[name]`, which the reader of heads takes for a list."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value or "")  # type: ignore[arg-type]


def texts_of(value: Any) -> tuple[str, ...]:
    """The texts of a list, or of one text with commas."""
    if isinstance(value, str):
        return tuple(split_rules(value))
    return tuple(str(item) for item in value) if isinstance(value, list) else ()  # type: ignore[arg-type]
