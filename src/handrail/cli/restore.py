"""`handrail restore`: puts a backup into the data folder of a server that is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handrail.cli.starting import folder_of, in_words

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `handrail backup` wrote.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The data folder. Default: ~/.handrail/bridge.")
    ] = None,
) -> None:
    """Restore a backup into a data folder. Stop its server first; existing data is set aside, not deleted.

    \b
    Example:
      handrail restore ~/handrail-2027-01-31.tar
      handrail restore ~/handrail-2027-01-31.tar --data /srv/handrail
    """
    in_words("restore", lambda: _restore(file.expanduser().absolute(), folder_of(data)))


def _restore(file: Path, data: Path) -> None:
    from handrail.bridge.store.backup import restore_backup

    found, replaced = restore_backup(file, data)
    print(f"{data}: {found.sessions} sessions, {found.events} events, from version {found.version}")
    if replaced is not None:
        print(f"Previous data was moved to {replaced}")
