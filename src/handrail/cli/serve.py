"""`handrail serve`: the bridge. In: an address, a data folder, a CLI. Out: a link to open; runs until it is stopped.

What a person needs goes to stdout in three lines; what goes wrong later goes to stderr as log lines.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.cluster_options import Joining, joining
from handrail.cli.starting import folder_of, in_words, roots_of
from handrail.cli.stopping import Stopping
from handrail.cli.terminal import Terminal
from handrail.cli.welcome import Welcome

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.cluster.configuration import ClusterConfiguration
    from handrail.bridge.configuration import Configuration

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

PORT = 8787
PORTS = 11
"""How many are tried where no port was named."""
HIBERNATE_SECONDS = 900.0
Node = Callable[[], "ClusterConfiguration | None"]


Root = Annotated[
    list[Path] | None, typer.Option(metavar="DIR", help="Where sessions may work; else here and in your home.")
]
Name = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST|URL", help="One more name it is reached by; as a URL where a proxy speaks TLS."),
]
Seed = Annotated[bool, typer.Option("--seed-protocol", help="A token for clients that can only set a URL.")]
PassEnv = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="One more variable of yours that the CLI gets.")
]
Hibernate = Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Idle processes end after so long.")]


@app.command()
@joining
def serve(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help=f"The port; else {PORT} or the next free.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Its folder; else ~/.handrail/bridge.")] = None,
    root: Root = None,
    cli: Annotated[str, typer.Option(metavar="PATH|claude|agent", help="Who answers; else the best there is.")] = "",
    name: Name = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate, as PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key, as PEM.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Listen beyond this machine without TLS.")] = False,
    allow_bypass: Annotated[bool, typer.Option("--allow-bypass", help="Clients may choose bypassPermissions.")] = False,
    pass_env: PassEnv = None,
    seed_protocol: Seed = False,
    hibernate: Hibernate = HIBERNATE_SECONDS,
    keep_days: Annotated[float, typer.Option(min=0, help="Delete sessions unused for so long; 0: never.")] = 0.0,
    keep_mib: Annotated[int, typer.Option(min=0, help="Above this delete the oldest sessions; 0: never.")] = 0,
    webhook: Annotated[str, typer.Option(metavar="URL", help="Told when a session needs you or is done.")] = "",
    qr: Annotated[bool, typer.Option("--qr", help="The link as a QR code too.")] = False,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Log lines as JSON.")] = False,
    link: Annotated[bool, typer.Option("--link", help="Only print a new link of the running server.")] = False,
    node_name: Annotated[str, typer.Option(metavar="WORD", help="Its name in the cluster; else the machine's.")] = "",
    no_run: Annotated[bool, typer.Option("--no-run", help="In a cluster: run no session on this machine.")] = False,
    joining: Joining,
) -> None:
    """Serve sessions to browsers, phones and programs, on this machine, until Ctrl-C.

    It prints a link that is good once, for ten minutes; whoever opens it is let in. Enter prints another one.
    With --cluster the sessions of other machines are served too.

    \b
    Example:
      handrail serve
      handrail serve --root ~/projects --qr
      handrail serve --cluster tls://nats1:4222,tls://nats2:4222 --ca ca.pem --credentials both.nk
    """
    if link:
        return in_words("serve", lambda: _print_link(folder_of(data)))
    _check_address(host, tls_cert, tls_key, insecure=insecure)
    _check_names(name or [])
    told: dict[str, Any] = {
        "data": folder_of(data),
        "host": host,
        "port": PORT if port is None else port,
        "roots": roots_of(root),
        "names": _names(host, name or []),
        "allow_bypass": allow_bypass,
        "pass_env": tuple(pass_env or ()),
        "seed_protocol": seed_protocol,
        "hibernate_after": hibernate,
        "keep_days": keep_days,
        "keep_bytes": keep_mib * 1024**2,
        "certificate": tls_cert,
        "key": tls_key,
        "webhook": webhook,
    }
    node, tries = partial(joining.configuration, node_name, page=True, runs=not no_run), PORTS if port is None else 1
    in_words("serve", lambda: _start(cli, node, told, tries=tries, qr=qr, json_logs=json_logs))


def _print_link(folder: Path) -> None:
    from handrail.bridge.web.running import new_link

    print(asyncio.run(new_link(folder)))


def _start(cli: str, node: Node, told: dict[str, Any], *, tries: int, qr: bool, json_logs: bool) -> None:
    from handrail.bridge.configuration import Configuration
    from handrail.bridge.logs import log_to
    from handrail.bridge.memory_privacy import keep_memory_private
    from handrail.bridge.session.cli import which_cli
    from handrail.bridge.web.tls import tls_context
    from handrail.bridge.web.webhook import check_webhook

    check_webhook(told["webhook"])
    if told["certificate"]:
        tls_context(told["certificate"], told["key"])  # before anything is opened
    keep_memory_private()
    configuration = Configuration(cli=which_cli(cli), cluster=node(), **told)
    log_to(as_json=json_logs)
    asyncio.run(_serve(configuration, tries=tries, qr=qr))


def _check_address(host: str, certificate: Path | None, key: Path | None, *, insecure: bool) -> None:
    """Usage errors where what was asked for would be open to the network, or cannot work."""
    from handrail.bridge.errors import AddressRefused
    from handrail.bridge.web.listening import check_address

    if (certificate is None) != (key is None):
        raise typer.BadParameter("--tls-cert and --tls-key go together")
    try:
        check_address(host, secure=certificate is not None, insecure=insecure)
    except AddressRefused as error:
        raise typer.BadParameter(str(error)) from None


def _check_names(names: list[str]) -> None:
    """A usage error for what is no name: a browser would be refused without anybody knowing why."""
    from handrail.bridge.web.addresses import is_name

    if wrong := [name for name in names if not is_name(name)]:
        raise typer.BadParameter(
            f"--name {wrong[0]} is no name of a host: box.example, box.example:8443 or https://box.example"
        )


def _names(host: str, names: list[str]) -> tuple[str, ...]:
    """Those that were given. A server on every address is reached by the machine's own name too: the link says it."""
    from handrail.bridge.web.addresses import EVERYWHERE

    return (*names, *([socket.gethostname()] if host in EVERYWHERE else []))


# The server


async def _serve(told: Configuration, *, tries: int, qr: bool) -> None:
    from msgspec.structs import replace

    from handrail.bridge.bridge import Bridge
    from handrail.bridge.web.listening import listen
    from handrail.bridge.web.running import remembered

    with listen(told.host, told.port, tries) as listener:
        told = replace(told, port=listener.getsockname()[1])
        bridge = Bridge(told)
        with remembered(told.data, told.own_address, told=told.address, certificate=told.certificate):
            await _run(bridge, listener, Welcome(bridge, Terminal(), qr=qr).show)


async def _run(bridge: Bridge, listener: socket.socket, ready: Callable[[], Awaitable[None]]) -> None:
    """The web server, until a signal; a second one ends it without waiting for anybody."""
    from handrail.bridge import server
    from handrail.bridge.memory_allocation import look_for_rubbish_less_often

    async with server.serve(bridge, insecure=True, listener=listener) as served:  # the address was checked before
        Stopping(served.stop).listen()
        await ready()
        look_for_rubbish_less_often()
        await served.wait()
