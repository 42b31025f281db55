"""What the user accepted of a folder. In: what the folder would run. Out: its `Standing`: trusted or not, and why.

    CONFIG HOME/handrail/trust/<sha256 of the folder's real path>.json     0600

An acceptance holds for exactly what was shown: when one byte of it changes, the folder is untrusted and the user is
asked again. It is kept outside of the folder, where the folder's own files cannot reach it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from handrail.settings.private_file import PrivateFileError, forget, read_private, state_folder, write_private
from handrail.settings.project import Contents, Item

__all__ = ["Accepted", "Change", "Standing", "TrustError", "accept", "accept_own_write", "revoke", "standing_of"]


class TrustError(Exception):
    """A folder cannot be accepted, or what was accepted cannot be kept; the text says why and what to do."""


class Accepted(msgspec.Struct, frozen=True):
    """What the user said yes to, and when. `items`: each item's key with a hash of what it was."""

    folder: str
    digest: str
    at: str
    items: Mapping[str, str] = {}


class Change(msgspec.Struct, frozen=True):
    """How an item differs from what was accepted. `item` is None where it is gone."""

    what: Literal["new", "changed", "gone"]
    name: str
    item: Item | None = None


class Standing(msgspec.Struct, frozen=True):
    """How a folder stands: what is in it, what was accepted of it, and whether the two are the same."""

    contents: Contents
    accepted: Accepted | None = None
    problem: str = ""

    @property
    def trusted(self) -> bool:
        """Whether its files count in full. Where it would run and change nothing there is nothing to ask."""
        return self._is_accepted or (not self.contents.items and self.contents.complete)

    @property
    def must_ask(self) -> bool:
        """Whether the user has to be asked before anything of it may count."""
        return not self.trusted

    @property
    def _is_accepted(self) -> bool:
        return self.accepted is not None and self.accepted.digest == self.contents.digest and self.contents.complete

    @property
    def changes(self) -> tuple[Change, ...]:
        """What differs from what was accepted; nothing where nothing was accepted."""
        if self.accepted is None or self._is_accepted:
            return ()
        old, now = self.accepted.items, _items_by_key(self.contents)
        came = [
            Change("changed" if key in old else "new", item.name, item)
            for key, item in now.items()
            if old.get(key) != _print_of(item)
        ]
        return (*came, *(Change("gone", key.split("\0")[1]) for key in old if key not in now))


def standing_of(contents: Contents, home: str) -> Standing:
    """How a folder stands. In: what it holds, the config home. Out: what cannot be read counts as not accepted."""
    try:
        data = read_private(_file(contents.folder, home))
        accepted = None if data is None else msgspec.json.decode(data, type=Accepted)
    except (PrivateFileError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Standing(contents, problem=str(error))
    if accepted is not None and accepted.folder != _name(contents.folder):
        accepted = None
    return Standing(contents, accepted)


def accept(contents: Contents, home: str) -> Accepted:
    """Remember that the user said yes to exactly these contents. TrustError where that cannot be."""
    if not contents.complete:
        raise TrustError(f"{contents.folder} holds more than can be checked: {contents.problems[-1]}")
    items = {key: _print_of(item) for key, item in _items_by_key(contents).items()}
    at = datetime.now(UTC).isoformat(timespec="seconds")
    accepted = Accepted(_name(contents.folder), contents.digest, at, items)
    try:
        write_private(_file(contents.folder, home), msgspec.json.encode(accepted))
    except PrivateFileError as error:
        raise TrustError(str(error)) from None
    return accepted


def accept_own_write(before: Standing, after: Contents, name: str, digest: str, home: str) -> bool:
    """Keep a trusted folder trusted after Handrail wrote one file in it. In: how it stood, what it holds now, the
    file's name and the hash of what was written. Out: false where anything else changed too: then the user is asked."""
    old, now = dict(before.contents.files), dict(after.files)
    written = now.pop(name, None)
    old.pop(name, None)
    if not before.trusted or written != digest or old != now or before.contents.git != after.git:
        return False
    accept(after, home)
    return True


def revoke(folder: str, home: str) -> bool:
    """Forget what was accepted. In: the folder's real path. Out: whether there was anything."""
    try:
        return forget(_file(folder, home))
    except PrivateFileError as error:
        raise TrustError(str(error)) from None


def _file(folder: str, home: str) -> Path:
    if os.path.join(os.path.realpath(home), "").startswith(os.path.join(os.path.realpath(folder), "")):
        raise PrivateFileError(f"{home} lies inside of {folder}, so nothing in that folder can be accepted")
    return state_folder(home) / "trust" / f"{hashlib.sha256(_name(folder).encode()).hexdigest()}.json"


def _name(folder: str) -> str:
    return folder.encode("utf-8", "backslashreplace").decode()


def _items_by_key(contents: Contents) -> dict[str, Item]:
    return {item.key: item for item in contents.items}


def _print_of(item: Item) -> str:
    return hashlib.sha256(msgspec.json.encode([item.text, item.digest])).hexdigest()
