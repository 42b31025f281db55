"""Shared by the commands that start a server: folders, prewarmed processes, and one-line errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from handrail.model_access.choice import Cli

__all__ = ["Prewarm", "check_prewarm", "folder_of", "in_words", "roots_of"]

_NATS: Final = ("nats", "nkeys")
"""Modules that only a cluster needs."""

Prewarm = Annotated[
    int, typer.Option(min=0, max=8, metavar="N", help="Processes of handrail-agent to start ahead; 0: none.")
]


def check_prewarm(processes: int, cli: Cli) -> None:
    """Raises NoCli if processes of this CLI cannot be started ahead of their sessions."""
    from handrail.model_access.choice import NoCli

    if processes and cli.kind != "agent":
        raise NoCli(
            f"--prewarm works only with handrail-agent, not with {cli.path}; add --cli agent, or omit --prewarm"
        )


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
    from handrail.errors import HandrailError

    try:
        work()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NATS:
            raise
        print(f"handrail {command}: a cluster needs NATS; run pip install 'handrail[nats]'", file=sys.stderr)
        raise typer.Exit(1) from None
    except (HandrailError, OSError) as error:
        print(f"handrail {command}: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
