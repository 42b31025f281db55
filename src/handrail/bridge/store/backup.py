"""Backups of a data folder: a tar file with a consistent copy of the store and the keys beside it.

SQLite copies the store within one read transaction, so a server may run and write meanwhile: the backup has everything
that was acknowledged before the copy began. The search index is left out, because it is built again from the store. A
backup is checked as `handrail doctor` checks a store before it gets its name, and again before it is restored.
"""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Generator
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from handrail.bridge.errors import InvalidSetup, StoreFailed, UnusableFile
from handrail.bridge.store.integrity import check_store
from handrail.bridge.store.ownership import DataFolder

__all__ = ["Backup", "restore_backup", "write_backup"]

STORE: Final = "handrail.db"
KEYS: Final = ("push-key.pem", "phone-certificate.pem", "phone-key.pem", "ccpocket-token", "seed-token")
"""Small files beside the store. Without them browsers would have to subscribe again and tokens would be lost."""
_MANIFEST: Final = "handrail-backup.json"
_FORMAT: Final = 1
_LARGEST_KEY: Final = 1024 * 1024
_REPLACED: Final = (STORE, f"{STORE}-wal", f"{STORE}-shm", *KEYS)
_DERIVED: Final = ("handrail-search.db", "handrail-search.db-wal", "handrail-search.db-shm", f"{STORE}-open")


class Backup(msgspec.Struct, frozen=True):
    """The manifest of a backup. `time` is in seconds since 1970."""

    format: int
    version: str
    time: int
    sessions: int
    events: int


def write_backup(data: Path, target: Path) -> Backup:
    """Write a backup of a data folder to a new file with mode 0600; a server may be running.

    The file appears under its name only when it is complete, checked and on disk. Raises BridgeError.
    """
    store = data / STORE
    if not store.is_file():
        raise InvalidSetup(f"no store in {data}; choose the folder of `handrail serve` with --data")
    if target.exists():
        raise InvalidSetup(f"{target} exists; choose another name, or delete it first")
    with _errors(target), tempfile.TemporaryDirectory(prefix=".handrail-backup-", dir=target.parent) as folder:
        copy, unfinished = Path(folder) / STORE, Path(folder) / "backup"
        _copy_store(store, copy)
        made = _checked(copy, version=metadata.version("handrail"))
        with unfinished.open("xb") as file:
            os.fchmod(file.fileno(), 0o600)
            with tarfile.open(fileobj=file, mode="w") as archive:
                _add_bytes(archive, _MANIFEST, msgspec.json.encode(made))
                archive.add(copy, STORE, filter=_private)
                for name in KEYS:
                    with contextlib.suppress(FileNotFoundError):
                        archive.add(data / name, name, filter=_private)
            file.flush()
            os.fsync(file.fileno())
        os.link(unfinished, target)  # unlike a rename, this never replaces a file
        _sync_folder(target.parent)
    return made


def restore_backup(archive: Path, data: Path) -> tuple[Backup, Path | None]:
    """Put a backup into a data folder that no server uses. Raises BridgeError.

    Files that were there before are moved into a new folder inside of it, which is returned.
    """
    held = DataFolder(data)
    try:
        with _errors(archive), tempfile.TemporaryDirectory(prefix=".restoring-", dir=data) as folder:
            found = _unpack(archive, Path(folder))
            replaced = _set_aside(data)
            for path in Path(folder).iterdir():
                path.rename(data / path.name)
            _sync_folder(data)
        return found, replaced
    finally:
        held.close()


def _copy_store(store: Path, copy: Path) -> None:
    """Copy the store in one read transaction, which neither waits for the writer nor delays it."""
    reading = sqlite3.connect(f"file:{quote(str(store))}?mode=ro", uri=True, timeout=10)
    with contextlib.closing(reading) as source, contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
    with copy.open("rb") as file:
        os.fchmod(file.fileno(), 0o600)
        os.fsync(file.fileno())


def _checked(store: Path, *, version: str) -> Backup:
    faults, _ = check_store(store)
    if faults:
        raise StoreFailed(store, f"the copy is damaged ({faults[0]}); run `handrail doctor`", lasting=True)
    with contextlib.closing(sqlite3.connect(store)) as db:
        sessions, events = (db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("session", "event"))  # noqa: S608
    return Backup(_FORMAT, version, round(time.time()), sessions, events)


def _unpack(archive: Path, folder: Path) -> Backup:
    """Read exactly the expected members, as plain files with mode 0600."""
    with archive.open("rb") as file, tarfile.open(fileobj=file, mode="r:") as members:
        manifest = members.extractfile(_MANIFEST)
        found = msgspec.json.decode(manifest.read(_LARGEST_KEY) if manifest else b"", type=Backup)
        if found.format != _FORMAT:
            raise InvalidSetup(f"{archive} has the unknown format {found.format}; upgrade handrail to restore it")
        for member in members:
            if member.name not in (STORE, *KEYS) or not member.isreg():
                continue
            source = members.extractfile(member)
            assert source is not None  # it is a regular file
            with (folder / member.name).open("xb") as target:
                os.fchmod(target.fileno(), 0o600)
                while piece := source.read(1024 * 1024):
                    target.write(piece)
                target.flush()
                os.fsync(target.fileno())
    again = _checked(folder / STORE, version=found.version)
    if (again.sessions, again.events) != (found.sessions, found.events):
        raise UnusableFile(
            f"{archive} is incomplete: it has {again.events} events of {found.events}; use another backup"
        )
    return found


def _set_aside(data: Path) -> Path | None:
    for name in _DERIVED:  # built again from the store
        (data / name).unlink(missing_ok=True)
    present = [data / name for name in _REPLACED if (data / name).exists()]
    if not present:
        return None
    folder = Path(tempfile.mkdtemp(prefix=f"replaced-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-", dir=data))
    for path in present:
        path.rename(folder / path.name)
    return folder


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(data), 0o600, round(time.time())
    archive.addfile(member, io.BytesIO(data))


def _private(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the names of this machine's users."""
    member.mode, member.uid, member.gid, member.uname, member.gname = 0o600, 0, 0, "", ""
    return member


def _sync_folder(folder: Path) -> None:
    """Make new names durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _errors(path: Path) -> Generator[None]:
    try:
        yield
    except FileExistsError:
        raise InvalidSetup(f"{path} exists; choose another name, or delete it first") from None
    except (sqlite3.Error, OSError) as error:
        raise UnusableFile(f"{path}: {error}") from error
    except (tarfile.TarError, KeyError, msgspec.MsgspecError, EOFError) as error:
        raise InvalidSetup(f"{path} is not a backup of handrail, or is damaged: {error}") from error
