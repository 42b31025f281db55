"""The notice that names what a session leaves out of an untrusted folder, and how to accept it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from typing import Final

from handrail.settings.load import Loaded
from handrail.settings.project import Item, Kind

__all__ = ["left_out", "notice_of"]

MOST: Final = 6
"""Names of one kind that are listed."""
LONGEST: Final = 60
_KINDS: Final[dict[Kind, str]] = {
    "permission": "permissions",
    "hook": "hooks",
    "mcp server": "MCP servers",
    "env": "variables",
    "helper": "helper programs",
    "setting": "settings",
    "agent": "powers of agents",
    "skill": "shell lines and grants of skills",
    "command": "shell lines and grants of commands",
    "git": "git configuration that runs programs",
}
"""The kinds of items that are named. Scripts are not: the item that starts one is."""
_LOCAL: Final = "settings.local.json"


def left_out(loaded: Loaded, sources: Collection[str] = ("project", "local")) -> list[Item]:
    """The items that do not count because the folder is not trusted. `sources`: the scopes that a session reads."""
    if loaded.trusted:
        return []
    settings = loaded.settings
    servers = {(server.name, server.line) for server in settings.mcp_servers}
    return [
        item
        for item in loaded.standing.contents.items
        if item.needs_trust
        and item.kind in _KINDS
        and ("local" if item.path.endswith(_LOCAL) else "project") in sources
        and not (item.kind == "mcp server" and (item.name, item.line) in servers)
        and not (item.kind == "permission" and settings.mode_source.endswith(f"{item.path}:{item.line}"))
    ]


def notice_of(loaded: Loaded, sources: Collection[str] = ("project", "local")) -> str:
    """The notice as one line of text that is safe to print; "" if nothing is left out.

    Variables and hooks are named without their values, which may hold secrets.
    """
    items = left_out(loaded, sources)
    standing = loaded.standing
    if not items and (standing.contents.complete or loaded.trusted):
        return ""
    state = "has changed since it was accepted" if standing.accepted is not None else "is not trusted"
    parts = [f"{label}: {_names(item for item in items if item.kind == kind)}" for kind, label in _KINDS.items()]
    listed = "; ".join(part for part in parts if not part.endswith(": ")) or "more files than can be checked"
    folder = _printable(shlex.quote(loaded.folder))
    return (
        f"The folder {folder} {state}, so parts of its settings are left out ({listed}). To accept them, run"
        f" `handrail trust accept {folder}`; to trust it for one session, start with --trust-folder or"
        " HANDRAIL_TRUST_FOLDER=1."
    )


def _names(items: Iterable[Item]) -> str:
    names = [*dict.fromkeys(_name(item) for item in items)]
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


def _name(item: Item) -> str:
    text = (
        item.name if item.kind != "permission" or item.name == "additionalDirectories" else f"{item.name} {item.text}"
    )
    text = _printable(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _printable(text: str) -> str:
    """The repository chose these names, so nothing in them may reach a terminal as a control sequence."""
    return "".join(character if character.isprintable() else "�" for character in text)
