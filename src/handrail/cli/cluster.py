"""`handrail cluster`: files for a cluster, how it is, a machine that is gone. Out: text; exit 0, 1 failed, 2 usage."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from handrail.cli.cluster_options import Way, way
from handrail.cli.printable import printable
from handrail.cli.starting import in_words

if TYPE_CHECKING:
    from handrail.bridge.cluster.founding.server_configuration import Server
    from handrail.bridge.cluster.link.link import Link
    from handrail.bridge.cluster.status import Status

__all__ = ["app"]

app = typer.Typer(
    help="Set up NATS for many machines, look at a cluster, say that a machine is gone.",
    epilog="Example: handrail cluster init ~/cluster --server box1 --server box2 --server box3",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

CONNECT_SECONDS = 10.0
Found = TypeVar("Found")


# Setting it up


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for all of it.")],
    server: Annotated[list[str], typer.Option(metavar="HOST[:PORT]", help="A NATS server; once, or three times.")],
    store: Annotated[str, typer.Option(metavar="DIR", help="Where each server keeps its data.")] = "store",
    port: Annotated[int, typer.Option(min=1, max=61535, help="For clients, where a server names none.")] = 4222,
    disk_gib: Annotated[int, typer.Option(min=1, metavar="GIB", help="So much each server may store.")] = 64,
    tls: Annotated[bool | None, typer.Option("--tls/--no-tls", help="Else wherever it is not this machine.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Allow no TLS beyond this machine.")] = False,  # noqa: FBT002
) -> None:
    """Write a folder for each NATS server, a key for each role, certificates, and a README with what to copy where.

    Three servers go on when one is lost; one alone does not. Nothing is overwritten.

    \b
    Example:
      handrail cluster init ~/cluster --server box1 --server box2 --server box3
      handrail cluster init ./trial --server 127.0.0.1
    """
    if len(server) == 2:
        raise typer.BadParameter("two servers are worth less than one: name one, or three", param_hint="--server")

    def work() -> None:
        from handrail.bridge.cluster.founding.founding import found

        servers = _servers(server, port)
        beyond = [one.host for one in servers if not one.alone]
        secure = bool(beyond) if tls is None else tls
        if beyond and not (secure or insecure):
            raise typer.BadParameter(f"{beyond[0]} is beyond this machine: say --insecure too", param_hint="--no-tls")
        found(folder.expanduser(), servers, store=store, disk=f"{disk_gib}GB", tls=secure)
        _print_steps(folder.expanduser(), servers, tls=secure)

    in_words("cluster init", work)


def _servers(given: list[str], port: int) -> list[Server]:
    from handrail.bridge.cluster.founding.server_configuration import server
    from handrail.bridge.errors import ClusterRefused

    try:
        return [server(n, text, port) for n, text in enumerate(given, 1)]
    except ClusterRefused as error:
        raise typer.BadParameter(str(error), param_hint="--server") from None


def _print_steps(folder: Path, servers: list[Server], *, tls: bool) -> None:
    from handrail.bridge.cluster.founding.founding import AUTHORITY, KEYS, cluster_address

    options = f"--cluster {cluster_address(servers, tls=tls)}" + (f" --ca {folder / AUTHORITY}" if tls else "")
    print(f"{folder} has a folder for each NATS server and a key for each role; {folder / 'README.md'} tells more.")
    print()
    for one in servers:
        print(f"on {one.host}:  cd {folder / one.name} && nats-server -c nats.conf")
    print(f"a gateway:  handrail serve {options} --credentials {folder / KEYS / 'both.nk'}")
    print(f"a runner:  handrail runner {options} --credentials {folder / KEYS / 'runner.nk'}")
    print(f"a look:  handrail cluster status {options} --credentials {folder / KEYS / 'viewer.nk'}")


# Looking at it


@app.command()
@way
def status(*, as_json: Annotated[bool, typer.Option("--json", help="JSON for scripts.")] = False, way: Way) -> None:
    """The machines, their leases and sessions, what NATS keeps and how far its copies are; 1 where that is not well.

    \b
    Example:
      handrail cluster status --cluster tls://nats1:4222 --ca ca.pem --credentials viewer.nk
    """

    async def look(link: Link) -> Status:
        from handrail.bridge.cluster.status import cluster_status

        return await cluster_status(link)

    def work() -> None:
        found = _connected(way, "viewer", look)
        _print_json(found) if as_json else _print_status(found)
        if found.alarms:
            raise typer.Exit(1)

    in_words("cluster status", work)


def _print_json(found: Status) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())


def _print_status(found: Status) -> None:
    from handrail.bridge.cluster.status import role_of

    machines = [("MACHINE", "ROLE", "SESSIONS", "FREE", "LEASE", "BEHIND", "FOLDERS")]
    for one in found.nodes:
        most = f"/{one.most_sessions}" if one.most_sessions else ""
        role = role_of(one) + ("" if one.moves else ", stays")
        lease, free = f"{one.age:.0f} s ago", _size(one.free_memory)
        machines.append((one.name, role, f"{one.sessions}{most}", free, lease, f"{one.behind:,}", " ".join(one.roots)))
    _print_table(machines)
    print()
    streams = [("STREAM", "SIZE", "MESSAGES", "COPIES", "BEHIND", "LEADER")]
    for kept in found.streams:
        copies = f"{kept.replicas - kept.away}/{kept.replicas}"
        row = (kept.name, _size(kept.bytes), f"{kept.messages:,}", copies, f"{kept.behind:,}", kept.leader or "-")
        streams.append(row)
    _print_table(streams)
    for alarm in found.alarms:
        print(f"! {printable(alarm)}", file=sys.stderr)


def _print_table(rows: list[tuple[str, ...]]) -> None:
    shown = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


# A machine that is gone


@app.command()
@way
def forget(
    *,
    node: Annotated[str, typer.Argument(help="Its name, as `status` shows it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    way: Way,
) -> None:
    """Say that a machine is gone for good: its sessions may be taken up elsewhere, also those that were to stay on it.

    What only that machine had is lost to the others. It must be off, and stay off: one that still works would be told
    that its sessions have another owner, and what it did meanwhile would not count.

    \b
    Example:
      handrail cluster forget box3 --cluster tls://nats1:4222 --ca ca.pem --credentials both.nk
    """
    if not yes and not _agrees(node):
        print("nothing was done", file=sys.stderr)
        raise typer.Exit(1)

    async def free(link: Link) -> int:
        from handrail.bridge.cluster.leases.ownership import forget_node

        return await forget_node(link.js, node)

    def work() -> None:
        print(f"{_connected(way, 'gateway', free)} sessions of {printable(node)} may be taken up elsewhere")

    in_words("cluster forget", work)


def _agrees(node: str) -> bool:
    question = f"Is {printable(node)} off for good? What only it had is lost then. Type its name to go on: "
    try:
        return input(question).strip() == node
    except EOFError:
        return False


def _connected(way: Way, role: str, work: Callable[[Link], Awaitable[Found]]) -> Found:
    """Do something with NATS. BridgeError where it does not answer or does not let us in."""
    from handrail.bridge.cluster.link.link import Link

    if not way.cluster:
        raise typer.BadParameter("say where NATS is", param_hint="--cluster")
    address = way.address()

    async def run() -> Any:
        async with Link(address, "handrail cluster", role=role) as link:
            await link.until_up(CONNECT_SECONDS)
            return await work(link)

    return asyncio.run(run())
