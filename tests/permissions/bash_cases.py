"""Cases of the corpus, decided on a disk that exists only in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from handrail.permissions.decide import Circumstances, Decision, decide
from handrail.permissions.paths.matching import Anchors, PathKind, Resolved, absolute
from handrail.permissions.rules.rule import Behavior, SourcedRule, read_rules

CORPUS = Path(__file__).parent / "corpus"
ANCHORS = Anchors(cwd="/tmp/w/proj", project="/tmp/w/proj", home="/tmp/home")


class Disk:
    """Nothing is there but what `/proc` and `/dev` have everywhere."""

    def resolve(self, path: str) -> Resolved:
        lexical = absolute(path, ANCHORS.cwd, ANCHORS.home)
        kind: PathKind = "missing"
        if lexical.startswith("/proc/"):
            kind = "proc"
        elif lexical.startswith("/dev/"):
            kind = "device"
        return Resolved(asked=path, lexical=lexical, real=lexical, kind=kind)

    def names(self, folder: str) -> tuple[str, ...]:
        return ("README.md", "main.py", "notes.txt", "-x")

    def is_plain(self, folder: str) -> bool:
        return True


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text().splitlines()]


def rules(allow: Sequence[str] = (), deny: Sequence[str] = (), ask: Sequence[str] = ()) -> tuple[SourcedRule, ...]:
    texts: dict[Behavior, Sequence[str]] = {"deny": deny, "ask": ask, "allow": allow}
    return tuple(rule for kind, given in texts.items() for rule in read_rules(given, kind, "session"))


def ask_for(
    tool: str,
    given: dict[str, Any],
    *,
    mode: str = "default",
    can_prompt: bool = True,
    bypass_available: bool | None = None,
    trusted: bool = True,
    reads: bool = False,
    **texts: Sequence[str],
) -> Decision:
    """Decide one use of a tool under rules given as allow=, deny=, ask=."""
    circumstances = Circumstances(
        anchors=ANCHORS,
        mode=mode,
        rules=rules(**texts),
        bypass_available=mode == "bypassPermissions" if bypass_available is None else bypass_available,
        can_prompt=can_prompt,
        trusted=trusted,
        reads=reads,
    )
    return decide(tool, given, circumstances, Disk())


def ask_about(command: str, **given: Any) -> Decision:
    return ask_for("Bash", {"command": command}, **given)


def decide_row(row: dict[str, Any]) -> Decision:
    return ask_about(row["cmd"], mode=row["mode"], allow=row["allow"], deny=row["deny"], ask=row["ask"])
