"""Shared by the commands that start a server: folders, and one-line errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import typer

__all__ = ["folder_of", "in_words", "roots_of"]

_NATS: Final = ("nats", "nkeys")
"""Modules that only a cluster needs."""


def folder_of(data: Path | None) -> Path:
    """The absolute data folder."""
    from handrail.bridge.configuration import default_data_folder

    return (data or default_data_folder()).expanduser().absolute()


def roots_of(given: list[Path] | None) -> tuple[Path, ...]:
    """The roots. Raises a usage error for a missing folder."""
    from handrail.bridge.configuration import default_roots

    folders = tuple(path.expanduser().absolute() for path in given or ())
    if missing := [path for path in folders if not path.is_dir()]:
        raise typer.BadParameter(f"--root {missing[0]} is not a folder")
    return folders or default_roots()


def in_words(command: str, work: Callable[[], None]) -> None:
    """Run the command; an error is printed as one line, with exit code 1."""
    from handrail.protocol.errors import HandrailError

    try:
        work()
    except ModuleNotFoundError as error:
        extras = ["bridge", *(["nats"] if (error.name or "").partition(".")[0] in _NATS else [])]
        hint = f"handrail {command} needs more packages; run pip install 'handrail[{','.join(extras)}]'"
        print(f"{hint} ({error.name} is missing)", file=sys.stderr)
        raise typer.Exit(1) from None
    except (HandrailError, OSError) as error:
        print(f"handrail {command}: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
