"""Chooses the machines that can run a session.

Machines report their load every few seconds. The router tries the best one first, and the next if it has filled up.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import Final

from handrail.bridge.cluster.leases.lease import Node

__all__ = ["place", "why_no_machine"]

SESSION_MEMORY: Final = 180 * 2**20
"""Approximate memory of a CLI, to convert memory into sessions."""
_MIB: Final = 2**20
_MOST_NAMED: Final = 5
"""Machines, or folders of one machine, that an error message names."""


def place(nodes: Iterable[Node], *, cwd: str, labels: Collection[str] = (), last: str = "") -> list[Node]:
    """Machines that can run the session: the one that ran it last, then by load."""
    fit = [node for node in nodes if node.runs and _has_labels(node, labels) and _has_folder(node, cwd)]
    return sorted(filter(_has_room, fit), key=lambda node: (node.name != last, _load(node), node.name))


def why_no_machine(nodes: Iterable[Node], *, cwd: str, labels: Collection[str] = ()) -> str:
    """The reason why `place` finds no machine; "" if it finds one."""
    able = sorted((node for node in nodes if node.runs), key=lambda node: node.name)
    if not able:
        return "no machine runs sessions; start one with `handrail runner`"
    wanted = _labels_in_words(labels)
    able = [node for node in able if _has_labels(node, labels)]
    if not able:
        return f"no machine has {wanted}"
    whose = f" with {wanted}" if wanted else ""
    there = [node for node in able if _has_folder(node, cwd)]
    if not there:
        return f"no machine{whose} has {cwd}: {_named([_folders_in_words(node) for node in able])}"
    if any(map(_has_room, there)):
        return ""
    full = _named([_fullness_in_words(node) for node in there])
    which = f"machine{whose} that has {cwd}"
    return f"the only {which} is full: {full}" if len(there) == 1 else f"every {which} is full: {full}"


def _has_folder(node: Node, cwd: str) -> bool:
    """Compares path components: /home/ann is not below /home/a."""
    if not cwd.startswith("/"):
        return False
    path = PurePosixPath(posixpath.normpath(cwd))
    return any(path.is_relative_to(posixpath.normpath(root)) for root in node.roots)


def _has_labels(node: Node, labels: Collection[str]) -> bool:
    return set(labels) <= set(node.labels)


def _has_slot(node: Node) -> bool:
    return not node.most_sessions or node.sessions < node.most_sessions


def _has_memory(node: Node) -> bool:
    return node.free_memory >= node.least_memory


def _has_room(node: Node) -> bool:
    return _has_slot(node) and _has_memory(node)


def _load(node: Node) -> tuple[float, int]:
    """The used share of its sessions or of its memory, whichever is larger."""
    places = node.sessions / node.most_sessions if node.most_sessions else 0.0
    would_fit = node.sessions + node.free_memory / SESSION_MEMORY
    memory = node.sessions / would_fit if would_fit else 0.0
    return max(places, memory), -node.free_memory


def _labels_in_words(labels: Collection[str]) -> str:
    names = sorted(set(labels))
    return f"the label{'s' if len(names) > 1 else ''} {' and '.join(names)}" if names else ""


def _folders_in_words(node: Node) -> str:
    return f"{node.name} has {_named(node.roots, ', ')}" if node.roots else f"{node.name} shares no folder"


def _fullness_in_words(node: Node) -> str:
    if not _has_slot(node):
        return f"{node.name} has {node.sessions} of {node.most_sessions} sessions"
    return f"{node.name} has {node.free_memory // _MIB} MiB of memory left and needs {node.least_memory // _MIB}"


def _named(words: list[str], between: str = "; ") -> str:
    more = len(words) - _MOST_NAMED
    return between.join(words[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
