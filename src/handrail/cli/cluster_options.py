"""The options of a cluster.

Several commands have the same options: `joining` adds them to a command, which gets them as one value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

if TYPE_CHECKING:
    from handrail.bridge.cluster.configuration import ClusterConfiguration
    from handrail.bridge.cluster.nats.address import Address

__all__ = ["Joining", "Way", "joining", "way"]

File = Path | None


class Way(Struct, frozen=True):
    """How NATS is reached."""

    cluster: str
    credentials: Path | None
    ca: Path | None
    nats_cert: Path | None
    nats_key: Path | None
    insecure_cluster: bool

    def address(self) -> Address:
        """The address of NATS. Raises a usage error if it is invalid, BridgeError if a file cannot be used."""
        from handrail.bridge.cluster.nats.address import parse_address, tls_context
        from handrail.bridge.cluster.nats.credentials import login_options
        from handrail.bridge.errors import ClusterRefused

        try:
            found = parse_address(
                self.cluster,
                credentials=_absolute(self.credentials),
                ca=_absolute(self.ca),
                certificate=_absolute(self.nats_cert),
                key=_absolute(self.nats_key),
                insecure=self.insecure_cluster,
            )
        except ClusterRefused as error:
            raise typer.BadParameter(str(error), param_hint="--cluster") from None
        login_options(found)  # before anything is opened
        tls_context(found)
        return found


class Joining(Struct, frozen=True):
    """The role of this machine in the cluster. `move`: None leaves it to the command."""

    way: Way
    label: list[str]
    most_sessions: int
    least_memory: int
    move: bool | None
    copies: int

    def configuration(self, name: str, *, page: bool, runs: bool) -> ClusterConfiguration | None:
        """None without a cluster. Raises a usage error for an invalid value."""
        from handrail.bridge.cluster.configuration import (
            ClusterConfiguration,
            checked_label,
            checked_name,
            default_name,
        )
        from handrail.bridge.errors import ClusterRefused

        if not self.way.cluster:
            if name or not runs or self.label or self.move is not None or self.way.credentials or self.way.ca:
                raise typer.BadParameter(
                    "missing; the options of a cluster need the address of NATS", param_hint="--cluster"
                )
            return None
        address = self.way.address()
        try:
            labels, name = tuple(map(checked_label, self.label)), checked_name(name or default_name())
        except ClusterRefused as error:
            raise typer.BadParameter(str(error)) from None
        return ClusterConfiguration(
            address=address,
            name=name,
            page=page,
            runs=runs,
            moves=not page if self.move is None else self.move,
            labels=labels,
            most_sessions=self.most_sessions,
            least_memory=self.least_memory * 1024**2,
            replicas=self.copies,
        )


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.expanduser().absolute()


Cluster = Annotated[
    str, typer.Option(metavar="URL", help="Addresses of NATS servers: tls://host1:4222,tls://host2:4222")
]
Credentials = Annotated[
    File, typer.Option(metavar="FILE", help="The credentials for NATS: an NKey, a JWT or a password.")
]
Ca = Annotated[File, typer.Option(metavar="FILE", help="The CA that signed the certificates of NATS, as PEM.")]
NatsCert = Annotated[File, typer.Option(metavar="FILE", help="The client certificate for NATS, as PEM.")]
NatsKey = Annotated[File, typer.Option(metavar="FILE", help="The key of the certificate, as PEM.")]
Insecure = Annotated[bool, typer.Option("--insecure-cluster", help="Allow NATS on other machines without TLS.")]
Label = Annotated[
    list[str] | None, typer.Option(metavar="WORD", help="A label by which clients can choose this machine.")
]
MostSessions = Annotated[int, typer.Option(min=0, metavar="N", help="Sessions that run at once; 0: any number.")]
LeastMemory = Annotated[int, typer.Option(min=0, metavar="MIB", help="Free memory that another session requires.")]
Move = Annotated[
    bool | None,
    typer.Option(
        "--move/--stay", help="Whether sessions move to other machines if this one fails, or stay and run without NATS."
    ),
]
Copies = Annotated[
    int, typer.Option(min=0, max=5, metavar="N", help="Replicas in NATS; 0: three if it has three servers.")
]


def _way(
    *,
    cluster: Cluster = "",
    credentials: Credentials = None,
    ca: Ca = None,
    nats_cert: NatsCert = None,
    nats_key: NatsKey = None,
    insecure_cluster: Insecure = False,
) -> Way:
    return Way(cluster, credentials, ca, nats_cert, nats_key, insecure_cluster)


def _joining(
    *,
    label: Label = None,
    most_sessions: MostSessions = 0,
    least_memory: LeastMemory = 256,
    move: Move = None,
    copies: Copies = 0,
) -> dict[str, Any]:
    return {
        "label": label or [],
        "most_sessions": most_sessions,
        "least_memory": least_memory,
        "move": move,
        "copies": copies,
    }


def way(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options by which NATS is reached; it gets them as `way`."""
    return _with_options(command, "way", (_way,), lambda given: _way(**given))


def joining(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a machine in a cluster; it gets them as `joining`."""

    def made(given: dict[str, Any]) -> Joining:
        ways = {name: given.pop(name) for name in inspect.signature(_way).parameters}
        return Joining(way=_way(**ways), **_joining(**given))

    return _with_options(command, "joining", (_way, _joining), made)


def _with_options(
    command: Callable[..., None],
    name: str,
    sources: tuple[Callable[..., Any], ...],
    made: Callable[[dict[str, Any]], object],
) -> Callable[..., None]:
    """The command as typer sees it: its own options, in the place of one of them those of the sources."""
    own = inspect.signature(command, eval_str=True).parameters
    more = [one for source in sources for one in inspect.signature(source, eval_str=True).parameters.values()]

    def run(**given: Any) -> None:
        taken = {one.name: given.pop(one.name) for one in more}
        command(**given, **{name: made(taken)})

    shown = [one for one in own.values() if one.name != name]
    run.__signature__ = inspect.Signature([*shown, *more])  # type: ignore[attr-defined]
    run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, command.__module__
    return run
