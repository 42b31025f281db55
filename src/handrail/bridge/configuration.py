"""What a server is told before it starts."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from handrail.bridge.launcher import Cli

__all__ = ["Configuration", "default_data_folder"]


def default_data_folder() -> Path:
    """Where a server keeps its things unless told otherwise."""
    return Path.home() / ".handrail" / "bridge"


class Configuration(Struct, frozen=True, kw_only=True):
    """One server.

    roots            folders in which sessions may work, with all that is below them
    allow_bypass     bypassPermissions may be chosen by clients
    seed_protocol    clients of the early bridge protocol may log in by a token in the address
    hibernate_after  seconds without anything happening after which an idle process is ended
    keep_days        sessions at rest for longer are deleted; 0 keeps them for ever
    keep_bytes       above this the oldest sessions are deleted; 0 is without end
    names            names by which the server is reached besides its own address
    """

    cli: Cli
    data: Path
    host: str = "127.0.0.1"
    port: int = 8787
    roots: tuple[Path, ...] = (Path.home(),)
    names: tuple[str, ...] = ()
    allow_bypass: bool = False
    seed_protocol: bool = False
    hibernate_after: float = 900.0
    keep_days: float = 0.0
    keep_bytes: int = 0
    certificate: Path | None = None
    key: Path | None = None
    webhook: str = ""
