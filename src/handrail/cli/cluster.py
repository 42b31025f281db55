"""`handrail cluster`: create the files of a cluster, let machines in, show its status, forget a machine."""

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
    from handrail.bridge.cluster.nats.connection import NatsConnection
    from handrail.bridge.cluster.setup.cluster_files import Server
    from handrail.bridge.cluster.status import Status

__all__ = ["app"]

app = typer.Typer(
    help="Set up NATS for several machines, show the status of a cluster, forget a lost machine.",
    epilog="Example: handrail cluster init ~/cluster --server box1 --server box2 --server box3",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

CONNECT_SECONDS = 10.0
Found = TypeVar("Found")


# init


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder for the files.")],
    server: Annotated[list[str], typer.Option(metavar="HOST[:PORT]", help="A NATS server; give one or three.")],
    store: Annotated[str, typer.Option(metavar="DIR", help="Data folder of each server.")] = "store",
    port: Annotated[int, typer.Option(min=1, max=61535, help="Client port of servers given without one.")] = 4222,
    disk_gib: Annotated[int, typer.Option(min=1, metavar="GIB", help="Disk space that each server may use.")] = 64,
    tls: Annotated[bool | None, typer.Option("--tls/--no-tls", help="Default: TLS if a server is remote.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Allow remote servers without TLS.")] = False,  # noqa: FBT002
    machine: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:ROLE", help="A machine that runs Handrail: both, gateway, runner or viewer."),
    ] = None,
) -> None:
    """Create a folder for each NATS server, a key for each machine, certificates, and a README with the next steps.

    With three servers, the cluster survives the loss of one. Without --machine there is one key for each role, for a
    trial. Existing files are never overwritten.

    \b
    Example:
      handrail cluster init ~/cluster --server box1 --server box2 --server box3 \\
        --machine box1:both --machine box2:both --machine box3:runner
      handrail cluster init ./trial --server 127.0.0.1
    """
    if len(server) == 2:
        raise typer.BadParameter("two servers stop when either is lost; give one or three", param_hint="--server")

    def work() -> None:
        from handrail.bridge.cluster.setup.cluster_files import write_cluster_files

        servers = _servers(server, port)
        remote = [one.host for one in servers if not one.is_local]
        secure = bool(remote) if tls is None else tls
        if remote and not (secure or insecure):
            raise typer.BadParameter(f"{remote[0]} is a remote host; add --insecure to allow it", param_hint="--no-tls")
        machines = _machines(machine or [])
        write_cluster_files(
            folder.expanduser(), servers, machines=machines, store=store, disk=f"{disk_gib}GB", tls=secure
        )
        _print_steps(folder.expanduser(), servers, machines, tls=secure)

    in_words("cluster init", work)


def _servers(given: list[str], port: int) -> list[Server]:
    from handrail.bridge.cluster.setup.cluster_files import parse_server
    from handrail.bridge.errors import ClusterRefused

    try:
        return [parse_server(n, text, port) for n, text in enumerate(given, 1)]
    except ClusterRefused as error:
        raise typer.BadParameter(str(error), param_hint="--server") from None


def _machines(given: list[str]) -> dict[str, str]:
    parts = [text.partition(":") for text in given]
    machines = {name: role for name, _, role in parts}
    if len(machines) < len(given):
        raise typer.BadParameter("two machines have the same name", param_hint="--machine")
    return machines


_COMMANDS = {
    "both": "handrail serve",
    "gateway": "handrail serve --no-run",
    "runner": "handrail runner",
    "viewer": "handrail cluster status",
}


def _print_steps(folder: Path, servers: list[Server], machines: dict[str, str], *, tls: bool) -> None:
    from handrail.bridge.cluster.setup.cluster_files import CA_CERTIFICATE, KEYS, cluster_url

    options = f"--cluster {cluster_url(servers, tls=tls)}" + (f" --ca {folder / CA_CERTIFICATE}" if tls else "")
    print(f"Created {folder}. Next steps (details in {folder / 'README.md'}):")
    print()
    for one in servers:
        print(f"NATS server on {one.host}:  cd {folder / one.name} && nats-server -c nats.conf")
    shown = machines or {"both": "both", "runner": "runner"}
    for name, role in {**shown, "viewer": "viewer"}.items():
        print(f"{name}:  {_COMMANDS[role]} {options} --credentials {folder / KEYS / f'{name}.nk'}")


# Machines

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `handrail cluster init` created.")]
MachineName = Annotated[str, typer.Argument(metavar="NAME", help="The name of the machine.")]


@app.command("add-machine")
def add_machine_command(
    folder: Folder,
    name: MachineName,
    role: Annotated[str, typer.Option(help="both, gateway, runner or viewer.")],
) -> None:
    """Create the key of another machine. It is valid when the NATS servers have the new accounts.conf.

    \b
    Example:
      handrail cluster add-machine ~/cluster box4 --role runner
    """

    def work() -> None:
        from handrail.bridge.cluster.setup.cluster_files import add_machine

        print(f"Created {add_machine(folder.expanduser(), name, role)}; copy it to {name}, readable by its user only.")
        _print_reload(folder.expanduser())

    in_words("cluster add-machine", work)


@app.command("remove-machine")
def remove_machine_command(folder: Folder, name: MachineName) -> None:
    """Remove the access of a machine. It takes effect when the NATS servers have the new accounts.conf.

    \b
    Example:
      handrail cluster remove-machine ~/cluster box4
    """

    def work() -> None:
        from handrail.bridge.cluster.setup.cluster_files import remove_machine

        remove_machine(folder.expanduser(), name)
        print(f"Removed the key of {printable(name)}.")
        _print_reload(folder.expanduser())

    in_words("cluster remove-machine", work)


@app.command()
def permissions(folder: Folder) -> None:
    """After an upgrade: write accounts.conf of the NATS servers with the permissions that this version needs.

    \b
    Example:
      handrail cluster permissions ~/cluster
    """

    def work() -> None:
        from handrail.bridge.cluster.setup.cluster_files import write_accounts

        write_accounts(folder.expanduser())
        _print_reload(folder.expanduser())

    in_words("cluster permissions", work)


def _print_reload(folder: Path) -> None:
    print(f"Copy accounts.conf from the folders of the servers in {folder}, and on each: nats-server --signal reload")


# status


@app.command()
@way
def status(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False, way: Way) -> None:
    """Show machines, leases, sessions, streams and their replicas. Exits with 1 if there are warnings.

    \b
    Example:
      handrail cluster status --cluster tls://nats1:4222 --ca ca.pem --credentials viewer.nk
    """

    async def query(connection: NatsConnection) -> Status:
        from handrail.bridge.cluster.status import cluster_status

        return await cluster_status(connection)

    def work() -> None:
        found = _connected(way, "viewer", query)
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
    streams = [("STREAM", "SIZE", "MESSAGES", "REPLICAS", "BEHIND", "LEADER")]
    for stream in found.streams:
        replicas = f"{stream.replicas - stream.away}/{stream.replicas}"
        size, messages, behind = _size(stream.bytes), f"{stream.messages:,}", f"{stream.behind:,}"
        streams.append((stream.name, size, messages, replicas, behind, stream.leader or "-"))
    _print_table(streams)
    for alarm in found.alarms:
        print(f"warning: {printable(alarm)}", file=sys.stderr)


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


# forget


@app.command()
@way
def forget(
    *,
    node: Annotated[str, typer.Argument(help="The machine's name as shown by `status`.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    way: Way,
) -> None:
    """Forget a machine that will not return: other machines may resume its sessions, even with --stay.

    Data that exists only on that machine is lost to the others. The machine must stay off: if it still runs, it loses
    its sessions, and its work since then is discarded.

    \b
    Example:
      handrail cluster forget box3 --cluster tls://nats1:4222 --ca ca.pem --credentials both.nk
    """
    if not yes and not _is_confirmed(node):
        print("cancelled", file=sys.stderr)
        raise typer.Exit(1)

    async def release(connection: NatsConnection) -> int:
        from handrail.bridge.cluster.leases.ownership import forget_node

        return await forget_node(connection.js, node)

    def work() -> None:
        print(f"{_connected(way, 'gateway', release)} sessions of {printable(node)} can now be resumed elsewhere")

    in_words("cluster forget", work)


def _is_confirmed(node: str) -> bool:
    question = f"Data that exists only on {printable(node)} will be lost. Type its name to confirm: "
    try:
        return input(question).strip() == node
    except EOFError:
        return False


def _connected(way: Way, role: str, work: Callable[[NatsConnection], Awaitable[Found]]) -> Found:
    """Connect to NATS and run `work`. Raises BridgeError if NATS does not answer or refuses the login."""
    from handrail.bridge.cluster.nats.connection import NatsConnection

    if not way.cluster:
        raise typer.BadParameter("the address of NATS is required", param_hint="--cluster")
    address = way.address()

    async def run() -> Any:
        async with NatsConnection(address, "handrail cluster", role=role) as connection:
            await connection.until_up(CONNECT_SECONDS)
            return await work(connection)

    return asyncio.run(run())
