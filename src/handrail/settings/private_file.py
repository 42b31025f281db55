"""Files about a person's decisions, such as those that Handrail stores under the config home.

They decide what may run, so no one else can read or write them: folders have mode 0700, files 0600, and a file that
others could have written does not count. A write replaces the whole file or nothing.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from handrail.errors import MachineError
from handrail.platform import NO_FOLLOW, NO_WAIT, RAW, is_readable_by_others, is_writable_by_others

__all__ = ["PrivateFileError", "forget", "read_private", "state_folder", "write_private"]

LIMIT = 2 * 1024 * 1024


class PrivateFileError(MachineError):
    """A file about a person's decisions cannot be relied on, read or written; the text says which and why."""


def state_folder(config_home: str) -> Path:
    """The folder of what Handrail remembers between runs."""
    return Path(config_home) / "handrail"


def read_private(path: Path, *, limit: int = LIMIT, secret: bool = False) -> bytes | None:
    """The content; None for a missing file. Raises PrivateFileError if others could have written it.

    `secret`: also if others could have read it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_FOLLOW | NO_WAIT | RAW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PrivateFileError(f"{path}: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise PrivateFileError(f"{path}: not a plain file; remove it")
    with os.fdopen(descriptor, "rb") as stream:
        if is_writable_by_others(status):
            raise PrivateFileError(f"{path}: others can write it, so it does not count; make it yours alone")
        if secret and is_readable_by_others(status):
            raise PrivateFileError(f"{path}: others can read it, so its secret may be known; delete it")
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise PrivateFileError(f"{path}: larger than {limit} bytes, so it is not read")
    return data


def write_private(path: Path, data: bytes) -> None:
    """Replace the file in one step. Raises PrivateFileError."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(6).hex()}")
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | RAW, 0o600)
        with contextlib.suppress(FileNotFoundError):
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
                unfinished.replace(path)
            finally:
                unfinished.unlink()
    except OSError as error:
        raise PrivateFileError(f"cannot write {path}: {error.strerror}") from None


def forget(path: Path) -> bool:
    """Remove the file. Returns whether there was one. Raises PrivateFileError."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise PrivateFileError(f"cannot remove {path}: {error.strerror}") from None
    return True
