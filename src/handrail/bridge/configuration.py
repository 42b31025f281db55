"""What a server is told before it starts."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from handrail.bridge.cluster.configuration import ClusterConfiguration
from handrail.bridge.session.launch import Cli
from handrail.bridge.web.addresses import own_address, told_address

__all__ = ["Configuration", "default_data_folder", "default_roots"]


def default_data_folder() -> Path:
    """Where a server keeps its things unless told otherwise."""
    return Path.home() / ".handrail" / "bridge"


def default_roots() -> tuple[Path, ...]:
    """Where sessions may work unless told otherwise: where the server was started, and the user's home.

    A service is started in /, where nobody means to work.
    """
    try:
        here = Path.cwd()
    except OSError:  # somebody has removed it meanwhile
        here = Path("/")
    return (here, Path.home()) if here != Path("/") else (Path.home(),)


class Configuration(Struct, frozen=True, kw_only=True):
    """One server.

    roots            folders in which sessions may work, with all that is below them
    allow_bypass     bypassPermissions may be chosen by clients
    pass_env         names of variables that the CLI is given besides those that every CLI needs
    seed_protocol    clients of the early bridge protocol may log in by a token in the address
    hibernate_after  seconds without anything happening after which an idle process is ended
    keep_days        sessions at rest for longer are deleted; 0 keeps them for ever
    keep_bytes       above this the oldest sessions are deleted; 0 is without end
    cluster          which other machines it works with; None: it is alone
    names            names by which the server is reached besides its own address, each with or without scheme and port
    """

    cli: Cli
    data: Path
    host: str = "127.0.0.1"
    port: int = 8787
    roots: tuple[Path, ...] = field(default_factory=default_roots)
    names: tuple[str, ...] = ()
    allow_bypass: bool = False
    pass_env: tuple[str, ...] = ()
    seed_protocol: bool = False
    hibernate_after: float = 900.0
    keep_days: float = 0.0
    keep_bytes: int = 0
    certificate: Path | None = None
    key: Path | None = None
    webhook: str = ""
    cluster: ClusterConfiguration | None = None

    @property
    def own_address(self) -> str:
        """Where it is reached from this machine."""
        return own_address(self.host, self.port, secure=self.certificate is not None)

    @property
    def address(self) -> str:
        """What people are told."""
        return told_address(self.host, self.port, self.names, secure=self.certificate is not None)
