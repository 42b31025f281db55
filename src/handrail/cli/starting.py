"""What commands that start a server have in common. In: what a person gave. Out: folders; errors in one sentence."""

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
    """Where a server keeps its things."""
    from handrail.bridge.configuration import default_data_folder

    return (data or default_data_folder()).expanduser().absolute()


def roots_of(given: list[Path] | None) -> tuple[Path, ...]:
    """Where sessions may work. A usage error for what is no folder."""
    from handrail.bridge.configuration import default_roots

    folders = tuple(path.expanduser().absolute() for path in given or ())
    if missing := [path for path in folders if not path.is_dir()]:
        raise typer.BadParameter(f"--root {missing[0]} is no folder")
    return folders or default_roots()


def in_words(command: str, work: Callable[[], None]) -> None:
    """Do it; what goes wrong is one sentence and exit code 1."""
    from handrail.bridge.errors import BridgeError

    try:
        work()
    except ModuleNotFoundError as error:
        extras = ["bridge", *(["nats"] if (error.name or "").partition(".")[0] in _NATS else [])]
        hint = f"handrail {command} needs more than the SDK does: pip install 'handrail[{','.join(extras)}]'"
        print(f"{hint} ({error.name} is missing)", file=sys.stderr)
        raise typer.Exit(1) from None
    except (BridgeError, OSError) as error:
        print(f"handrail {command}: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
