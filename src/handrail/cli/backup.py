"""`handrail backup`: writes a backup of a server's data, also while the server runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handrail.cli.starting import folder_of, in_words

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The data folder. Default: ~/.handrail/bridge.")
    ] = None,
) -> None:
    """Write a backup of the sessions, devices and keys of `handrail serve`. The server may run meanwhile.

    The backup contains everything that was acknowledged before it began. It holds secrets, so only you can read it.

    \b
    Example:
      handrail backup ~/handrail-2027-01-31.tar
    """
    in_words("backup", lambda: _backup(folder_of(data), file.expanduser().absolute()))


def _backup(data: Path, file: Path) -> None:
    from handrail.bridge.store.backup import write_backup

    made = write_backup(data, file)
    print(f"{file}: {made.sessions} sessions, {made.events} events, {file.stat().st_size / 1024**2:.1f} MiB")
