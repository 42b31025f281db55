"""Whether the user trusts what a folder's own files would run.

    CONFIG HOME/handrail/trust/<sha256 of the folder's real path>.json     0600

An acceptance covers exactly the files that were shown: after one changed byte the folder is untrusted, and the user is
asked again. It is stored outside of the folder, where the folder's own files cannot reach it. Trust that was given to
the folder as a whole, in the CLI or by the host, is in `given_trust`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from handrail.errors import CallerError
from handrail.settings.given_trust import GivenBy, accepted_in_cli, state_file_of
from handrail.settings.private_file import PrivateFileError, forget, read_private, state_folder, write_private
from handrail.settings.project import Contents, Item
from handrail.settings.sha256 import sha256_of

__all__ = ["Accepted", "Change", "Standing", "TrustError", "accept", "accept_own_write", "revoke", "standing_of"]


class TrustError(CallerError):
    """A folder cannot be accepted, or the acceptance cannot be stored; the text says why and what to do."""


class Accepted(msgspec.Struct, frozen=True):
    """What the user accepted, and when. `items` maps the key of each item to a hash of its content."""

    folder: str
    digest: str
    at: str
    items: Mapping[str, str] = {}


class Change(msgspec.Struct, frozen=True):
    """How an item differs from what was accepted. `item` is None for one that was removed."""

    what: Literal["new", "changed", "gone"]
    name: str
    item: Item | None = None


class Standing(msgspec.Struct, frozen=True):
    """The contents of a folder, the part of them that was accepted, and whether the folder is trusted.

    `given_by` names who trusts the folder as a whole: the user in the CLI, or the host of this session.
    """

    contents: Contents
    accepted: Accepted | None = None
    problem: str = ""
    given_by: GivenBy = ""

    @property
    def trusted(self) -> bool:
        """Whether all files of the folder count in full. One that runs and widens nothing needs no acceptance."""
        return self.vouched_for or not self.contents.needs_trust

    @property
    def vouched_for(self) -> bool:
        """Whether the user (here or in the CLI) or the host trusts the folder. Needing no trust is not enough."""
        return bool(self.given_by) or self.is_accepted

    @property
    def must_ask(self) -> bool:
        """Whether the user has to accept the folder before everything in it may count."""
        return not self.trusted

    @property
    def is_accepted(self) -> bool:
        """Whether the user accepted exactly these contents."""
        return self.accepted is not None and self.accepted.digest == self.contents.digest and self.contents.complete

    @property
    def changes(self) -> tuple[Change, ...]:
        """The differences from what was accepted; empty if nothing was."""
        if self.accepted is None or self.is_accepted:
            return ()
        old, now = self.accepted.items, _items_by_key(self.contents)
        came = [
            Change("changed" if key in old else "new", item.name, item)
            for key, item in now.items()
            if old.get(key) != _print_of(item)
        ]
        return (*came, *(Change("gone", key.split("\0")[1]) for key in old if key not in now))


def standing_of(contents: Contents, home: str, *, state_file: str | None = None, host_trusts: bool = False) -> Standing:
    """Whether a folder is trusted. A stored acceptance that cannot be read counts as none.

    `home` is the config home. `state_file` is the CLI's state file, if it is not the usual one of this home.
    `host_trusts`: the host of the session vouches for the folder.
    """
    accepted, problem = _stored(contents, home)
    standing = Standing(contents, accepted, problem, "host" if host_trusts else "")
    if standing.vouched_for or not (contents.items or contents.needs_trust):
        return standing
    try:
        in_cli = accepted_in_cli(contents.folder, state_file_of(home) if state_file is None else state_file)
    except PrivateFileError as error:
        return msgspec.structs.replace(standing, problem=problem or str(error))
    return msgspec.structs.replace(standing, given_by="cli") if in_cli else standing


def _stored(contents: Contents, home: str) -> tuple[Accepted | None, str]:
    """The stored acceptance of a folder, and why it cannot be used."""
    try:
        data = read_private(_file(contents.folder, home))
        accepted = None if data is None else msgspec.json.decode(data, type=Accepted)
    except (PrivateFileError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, str(error)
    return (accepted if accepted is not None and accepted.folder == _name(contents.folder) else None), ""


def accept(contents: Contents, home: str) -> Accepted:
    """Store that the user accepts exactly these contents. Raises TrustError."""
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
    """Keep a folder trusted after Handrail wrote the file `name` in it; `digest` is the hash of what was written.

    Returns False if anything else has changed too: then the user is asked. Trust given in the CLI or by a host is not
    turned into an acceptance of ours.
    """
    old, now = dict(before.contents.files), dict(after.files)
    written = now.pop(name, None)
    old.pop(name, None)
    trusted = before.is_accepted or not before.contents.needs_trust
    if not trusted or written != digest or old != now or before.contents.git != after.git:
        return False
    accept(after, home)
    return True


def revoke(folder: str, home: str) -> bool:
    """Remove the acceptance of a folder, given by its real path. Returns whether there was one. Raises TrustError."""
    try:
        return forget(_file(folder, home))
    except PrivateFileError as error:
        raise TrustError(str(error)) from None


def _file(folder: str, home: str) -> Path:
    if os.path.join(os.path.realpath(home), "").startswith(os.path.join(os.path.realpath(folder), "")):
        raise PrivateFileError(f"{home} lies inside of {folder}, so nothing in that folder can be accepted")
    return state_folder(home) / "trust" / f"{sha256_of(_name(folder).encode())}.json"


def _name(folder: str) -> str:
    return folder.encode("utf-8", "backslashreplace").decode()


def _items_by_key(contents: Contents) -> dict[str, Item]:
    return {item.key: item for item in contents.items}


def _print_of(item: Item) -> str:
    return sha256_of(msgspec.json.encode([item.text, item.digest]))
