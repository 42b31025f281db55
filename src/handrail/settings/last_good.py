"""Remembers the deny and ask rules of the last valid version of each settings file.

A file that is cut off by a crash, or replaced by something odd, must not lift its restrictions. Its rules are stored
under the config home until the file is valid again or removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from handrail.settings.files import RuleText, SettingsFile
from handrail.settings.private_file import PrivateFileError, forget, read_private, state_folder, write_private
from handrail.settings.sha256 import sha256_of

__all__ = ["LastGood"]


class _Remembered(msgspec.Struct, frozen=True):
    path: str
    rules: tuple[RuleText, ...]


class LastGood:
    """Remembers in this process, and under `home` for the next one; without a home, in this process only."""

    def __init__(self, home: str | None = None) -> None:
        self._folder = None if home is None else state_folder(home) / "last-good"
        self._known: dict[str, tuple[RuleText, ...]] = {}

    def fill(self, files: Iterable[SettingsFile]) -> list[SettingsFile]:
        """Store the rules of valid files, and add the stored rules to broken ones."""
        return [self._fill(file) for file in files]

    def _fill(self, file: SettingsFile) -> SettingsFile:
        if file.place.text is not None or file.place.kind != "settings":
            return file
        path = file.place.path.encode("utf-8", "backslashreplace").decode()
        known = self._recall(path)
        if file.broken:
            return msgspec.structs.replace(file, remembered=known)
        rules = tuple(rule for rule in file.rule_texts() if rule.behavior != "allow")
        if rules != known:
            self._keep(path, rules)
        return file

    def _recall(self, path: str) -> tuple[RuleText, ...]:
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> tuple[RuleText, ...]:
        if self._folder is None:
            return ()
        with contextlib.suppress(PrivateFileError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = msgspec.json.decode(read_private(self._file(path)) or b"", type=_Remembered)
            return found.rules if found.path == path else ()
        return ()

    def _keep(self, path: str, rules: tuple[RuleText, ...]) -> None:
        self._known[path] = rules
        if self._folder is None:
            return
        # If the home cannot be written, this process still remembers.
        with contextlib.suppress(PrivateFileError):
            if rules:
                write_private(self._file(path), msgspec.json.encode(_Remembered(path, rules)))
            else:
                forget(self._file(path))

    def _file(self, path: str) -> Path:
        return (self._folder or Path()) / f"{sha256_of(path.encode())}.json"
