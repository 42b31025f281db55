"""The configuration of a server."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from handrail.bridge.addresses import is_here, own_address, told_address
from handrail.bridge.cluster.configuration import ClusterConfiguration
from handrail.model_access.choice import CliChoice

__all__ = ["Configuration", "default_data_folder", "default_roots"]


def default_data_folder() -> Path:
    """The default data folder."""
    return Path.home() / ".handrail" / "bridge"


def default_roots() -> tuple[Path, ...]:
    """The default roots: the working directory, unless it is / as in a service, and the user's home."""
    try:
        here = Path.cwd()
    except OSError:  # it was removed meanwhile
        here = Path("/")
    return (here, Path.home()) if here != Path("/") else (Path.home(),)


class Configuration(Struct, frozen=True, kw_only=True):
    """One server.

    roots            folders below which sessions may work
    names            further names of the server, each with or without scheme and port
    base_path        the path at which a proxy offers the server: "" or for example "/handrail"
    proxies          addresses or networks of proxies whose X-Forwarded headers are used
    allow_bypass     clients may choose bypassPermissions
    pass_env         environment variables that the CLI gets besides those that every CLI needs
    ccpocket         clients of the ccpocket protocol may log in with a token in the URL
    hibernate_after  seconds after which an idle process is ended
    prewarm          processes of our agent that are kept waiting for the next sessions; 0: none
    keep_days        sessions unused for longer are deleted; 0: never
    keep_bytes       above this total the oldest sessions are deleted; 0: never
    fingerprint      SHA-256 of a certificate that was made for a phone; "" for any other
    cluster          the cluster to join; None: the server is alone
    """

    cli: CliChoice
    data: Path
    host: str = "127.0.0.1"
    port: int = 8787
    roots: tuple[Path, ...] = field(default_factory=default_roots)
    names: tuple[str, ...] = ()
    base_path: str = ""
    proxies: tuple[str, ...] = ()
    allow_bypass: bool = False
    pass_env: tuple[str, ...] = ()
    ccpocket: bool = False
    hibernate_after: float = 900.0
    prewarm: int = 0
    keep_days: float = 0.0
    keep_bytes: int = 0
    certificate: Path | None = None
    key: Path | None = None
    webhook: str = ""
    fingerprint: str = ""
    cluster: ClusterConfiguration | None = None

    @property
    def runs(self) -> bool:
        """Whether sessions run on this machine."""
        return self.cluster is None or self.cluster.runs

    @property
    def own_address(self) -> str:
        """The address for clients on this machine."""
        return own_address(self.host, self.port, secure=self.certificate is not None)

    @property
    def address(self) -> str:
        """The address that is shown to people."""
        told = told_address(self.host, self.port, self.names, secure=self.certificate is not None)
        return f"{told}{self.base_path}"

    @property
    def phone_address(self) -> str:
        """The address that other devices can reach; "" if only this machine can."""
        return "" if is_here(self.address) else self.address
