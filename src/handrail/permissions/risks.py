"""Names the risks of a tool call and what each would touch, for a person who decides about it. Pure.

These are hints, not a decision: a call without any may still do harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from handrail.permissions.bash.candidates import candidates
from handrail.permissions.bash.critical import critical
from handrail.permissions.modes import class_of
from handrail.permissions.paths.matching import Anchors
from handrail.permissions.paths.names import absolute, is_below, shown, squash
from handrail.permissions.programs.files import files_of
from handrail.permissions.programs.wrappers import base_name, unwrap
from handrail.permissions.shell.commands import Command, read_script
from handrail.permissions.shell.reading import Notes
from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER, Word

__all__ = ["KINDS", "Risk", "risks_of"]

Kind = Literal["critical", "admin", "unseen", "deletes", "outside", "network"]
KINDS: Final[tuple[Kind, ...]] = ("critical", "admin", "unseen", "deletes", "outside", "network")
"""The most serious first."""
MOST: Final = 10
"""Subjects of one risk."""
LONGEST: Final = 10_000
"""Characters. A longer command is not read: nobody reads it whole either."""
DEEPEST: Final = 6
_ADMIN: Final = frozenset("sudo doas su pkexec run0 runuser".split())
_REMOVERS: Final = frozenset("rm rmdir unlink shred srm trash".split())
_TRANSFERS: Final = frozenset(
    "curl wget nc ncat netcat socat telnet ssh scp sftp ftp rsh mosh aria2c http https xh gh hub".split()
)
_COPIES: Final = frozenset({"scp", "sftp", "rsync"})
_NETWORKED: Final = {
    "git": frozenset("push pull fetch clone ls-remote submodule".split()),
    **dict.fromkeys("npm pnpm yarn bun".split(), frozenset("install i add ci update publish create dlx".split())),
    **dict.fromkeys("pip pip3 uv poetry".split(), frozenset("install download sync add publish".split())),
    **dict.fromkeys("apt apt-get brew dnf yum apk".split(), frozenset("install update upgrade".split())),
    "cargo": frozenset("install add publish update fetch".split()),
    "go": frozenset("get install mod".split()),
    "docker": frozenset("pull push login build run".split()),
}
"""Subcommands that use the network."""
_GIT_DISCARDS: Final = {"clean": "untracked files", "reset": "uncommitted changes"}
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]+@)?((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}|localhost|\d+(?:\.\d+){3})(?::.*)?")
_ADDRESS: Final = re.compile(r"[a-z+]+://(?:[^/?#@]*@)?([A-Za-z0-9._-]+)", re.IGNORECASE)
_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_HARMLESS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_UNKNOWN: Final = re.compile(f"[{HOLE}{NUMBER}]")


class Risk(Struct, frozen=True):
    """A risk, and what it is about: paths, hosts, a command. `subjects` may be empty if that is not known."""

    kind: Kind
    subjects: tuple[str, ...] = ()


def risks_of(tool: str, input: dict[str, Any], anchors: Anchors) -> list[Risk]:
    """The risks of a call, the most serious first."""
    found: dict[Kind, dict[str, None]] = {}
    for kind, subject in _findings(tool, input, anchors):
        found.setdefault(kind, {})
        if subject:
            found[kind][subject] = None
    return [Risk(kind, tuple(shown(one)[:200] for one in list(found[kind])[:MOST])) for kind in KINDS if kind in found]


Finding = tuple[Kind, str]


def _findings(tool: str, input: dict[str, Any], anchors: Anchors) -> Iterator[Finding]:
    if class_of(tool) in ("read", "edit"):
        path = next((input[name] for name in ("file_path", "notebook_path", "path") if name in input), "")
        if isinstance(path, str) and path:
            yield from _outside(absolute(path, anchors.cwd, anchors.home), anchors)
    elif tool == "WebFetch":
        yield "network", _host(str(input.get("url", "")))
    elif tool == "WebSearch":
        yield "network", ""
    elif tool == "Bash":
        yield from _script(str(input.get("command", "")), ((),), anchors, 0)


def _script(text: str, folders: tuple[tuple[str, ...], ...], anchors: Anchors, depth: int) -> Iterator[Finding]:
    if len(text) > LONGEST or depth > DEEPEST:
        yield "unseen", ""
        return
    script = read_script(text, folders)
    if script.doubts:
        yield "unseen", ""
    for command in script.commands:
        yield from _command(command, script.notes, anchors, depth)


def _command(command: Command, notes: Notes, anchors: Anchors, depth: int) -> Iterator[Finding]:
    for redirect in command.redirects:
        if redirect.operator in _WRITES:
            yield from _places(redirect.target, command, notes, anchors, ("outside",))
    if not command.words:
        return
    name = base_name(command.words[0])
    if why := critical(command, anchors, notes):
        yield "critical", why
    if name in _ADMIN:
        yield "admin", " ".join(_plain(word) for word in command.words[1:])
    yield from _changes(name, command, notes, anchors)
    yield from _contacts(name, command.words)
    if runs := unwrap(command):
        if runs.hidden or depth > DEEPEST:
            yield "unseen", command.text or name
        for inner in runs.commands if depth <= DEEPEST else ():
            yield from _command(inner, notes, anchors, depth + 1)
        for text in runs.scripts:
            yield from _script(text, command.folders, anchors, depth + 1)


def _changes(name: str, command: Command, notes: Notes, anchors: Anchors) -> Iterator[Finding]:
    """Deleted files, and files outside of the project."""
    words = [word.text for word in command.words]
    for touch in files_of(command.words):
        if ":" in touch.word.source and name in _TRANSFERS | _COPIES:
            continue  # on another machine
        kinds: tuple[Kind, ...] = ("deletes", "outside") if name in _REMOVERS else ("outside",)
        yield from _places(touch.word, command, notes, anchors, kinds)
    if name == "find" and "-delete" in words:
        yield "deletes", " ".join(map(_plain, command.words[1:]))
    if name == "git":
        for subcommand, lost in _GIT_DISCARDS.items():
            if subcommand in words[1:] and (subcommand != "reset" or "--hard" in words):
                yield "deletes", lost


def _places(word: Word, command: Command, notes: Notes, anchors: Anchors, kinds: tuple[Kind, ...]) -> Iterator[Finding]:
    for candidate in candidates(word, command.folders, anchors, notes):
        path = f"{candidate.path}/{candidate.glob}" if candidate.glob else candidate.path
        if "deletes" in kinds:
            yield "deletes", _plain(word) if candidate.open else _relative(path, anchors)
        if not candidate.open:
            yield from _outside(path, anchors)


def _outside(path: str, anchors: Anchors) -> Iterator[Finding]:
    place = squash(path)
    folders = (anchors.project, anchors.real_project, *anchors.folders())
    if place not in _HARMLESS and not any(is_below(place, squash(folder)) for folder in folders if folder):
        yield "outside", place


def _relative(path: str, anchors: Anchors) -> str:
    place = squash(path)
    folder = squash(anchors.cwd)
    return place[len(folder) :].strip("/") or "." if is_below(place, folder) else place


def _contacts(name: str, words: tuple[Word, ...]) -> Iterator[Finding]:
    """Hosts that a command connects to."""
    texts = [word.text for word in words[1:]]
    transfers = name in _TRANSFERS or (name == "rsync" and any(":" in text for text in texts))
    if transfers or _NETWORKED.get(name, frozenset()) & set(texts):
        bare = name in _TRANSFERS - _COPIES  # elsewhere a word with a dot is a file or a package
        named = [text for text in texts if not text.startswith("-") and (bare or ":" in text)]
        hosts = [host for text in named if (host := _host(text))]
        for host in hosts or [""]:
            yield "network", host


def _host(text: str) -> str:
    """The host of an address, or of `user@host:path`; "" if there is none."""
    found = _ADDRESS.match(text) if "://" in text else _HOST.fullmatch(text.partition("/")[0])
    return found[1].lower() if found else ""


def _plain(word: Word) -> str:
    """A word as it is written, with variables named."""
    return word.source or _UNKNOWN.sub("…", word.text.replace(HOME, "~").replace(HERE, "."))
