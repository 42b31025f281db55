"""`handrail serve`: runs the bridge until it is stopped.

The start-up lines go to stdout, log lines to stderr.
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
from handrail.cli.starting import Prewarm, check_prewarm, folder_of, in_words, roots_of
from handrail.cli.stopping import Stopping
from handrail.cli.terminal import Terminal
from handrail.cli.welcome import Welcome

if TYPE_CHECKING:
    from handrail.bridge.cluster.configuration import ClusterConfiguration
    from handrail.bridge.configuration import Configuration
    from handrail.bridge.server import Bridge

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

PORT = 8787
LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104  only with a certificate
PORTS = 11
"""How many ports are tried if none was named."""
HIBERNATE_SECONDS = 900.0
Node = Callable[[], "ClusterConfiguration | None"]


Root = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="A folder in which sessions may work. Default: this folder and your home."),
]
Name = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST|URL", help="Another name under which clients reach this server; a URL if a proxy has TLS."
    ),
]
BasePath = Annotated[
    str, typer.Option(metavar="PATH", help="The path under which a proxy serves it, for example /handrail.")
]
Proxy = Annotated[
    list[str] | None,
    typer.Option(metavar="ADDRESS", help="Accept X-Forwarded headers from this address or network."),
]
Ccpocket = Annotated[bool, typer.Option("--ccpocket", help="Accept ccpocket clients, which send a token in the URL.")]
OldCcpocket = Annotated[bool, typer.Option("--seed-protocol", hidden=True, help="The old name of --ccpocket.")]
PassEnv = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Pass this environment variable to the CLI.")]
Hibernate = Annotated[
    float, typer.Option(min=1, metavar="SECONDS", help="End a CLI process that is idle for this long.")
]


@app.command()
@joining
def serve(
    *,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = LOOPBACK,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help=f"Default: {PORT}, or the next free port.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The data folder. Default: ~/.handrail/bridge.")
    ] = None,
    root: Root = None,
    cli: Annotated[
        str, typer.Option(metavar="claude|agent|NAME|PATH", help="The CLI. `handrail agents list` shows names.")
    ] = "",
    name: Name = None,
    base_path: BasePath = "",
    proxy: Proxy = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate, as PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate, as PEM.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Allow other machines to connect without TLS.")] = False,
    allow_bypass: Annotated[
        bool, typer.Option("--allow-bypass", help="Let clients choose the mode bypassPermissions.")
    ] = False,
    pass_env: PassEnv = None,
    ccpocket: Ccpocket = False,
    seed_protocol: OldCcpocket = False,
    hibernate: Hibernate = HIBERNATE_SECONDS,
    prewarm: Prewarm = 0,
    keep_days: Annotated[
        float, typer.Option(min=0, metavar="DAYS", help="Delete sessions unused for this long; 0: never.")
    ] = 0.0,
    keep_mib: Annotated[
        int, typer.Option(min=0, metavar="MIB", help="Above this size, delete the oldest; 0: never.")
    ] = 0,
    webhook: Annotated[str, typer.Option(metavar="URL", help="Send a request when a session needs you or ends.")] = "",
    phone: Annotated[bool, typer.Option("--phone", help="Let a phone connect, with TLS; print a QR code.")] = False,
    qr: Annotated[bool, typer.Option("--qr", help="Also print the link as a QR code.")] = False,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Log as JSON.")] = False,
    link: Annotated[bool, typer.Option("--link", help="Print a new link to the running server and exit.")] = False,
    node_name: Annotated[
        str, typer.Option(metavar="WORD", help="Its name in the cluster. Default: the host name.")
    ] = "",
    no_run: Annotated[bool, typer.Option("--no-run", help="Run no sessions on this machine of a cluster.")] = False,
    joining: Joining,
) -> None:
    """Serve sessions to browsers, phones, editors and programs, until Ctrl-C.

    It prints a link that works once, within ten minutes. The browser that opens it is logged in. Press Enter to print
    another link. With --cluster it also serves the sessions of other machines.

    \b
    Example:
      handrail serve
      handrail serve --root ~/projects --phone
      handrail serve --cluster tls://nats1:4222,tls://nats2:4222 --ca ca.pem --credentials both.nk
    """
    if link:
        return in_words("serve", lambda: _print_link(folder_of(data)))
    if phone and (tls_cert or tls_key or insecure or host != LOOPBACK):
        raise typer.BadParameter("--phone chooses address and certificate; leave out --host, --tls-cert and --insecure")
    if not phone:
        in_words("serve", lambda: _check_address(host, tls_cert, tls_key, insecure=insecure))
    if prewarm and no_run:
        raise typer.BadParameter("--prewarm needs sessions on this machine; leave out --no-run or --prewarm")
    _check_names(name or [])
    _check_proxy(base_path, proxy or [])
    fields: dict[str, Any] = {
        "data": folder_of(data),
        "host": host,
        "port": PORT if port is None else port,
        "roots": roots_of(root),
        "names": _names(host, name or []),
        "base_path": base_path.rstrip("/"),
        "proxies": tuple(proxy or ()),
        "allow_bypass": allow_bypass,
        "pass_env": tuple(pass_env or ()),
        "ccpocket": ccpocket or seed_protocol,
        "hibernate_after": hibernate,
        "prewarm": prewarm,
        "keep_days": keep_days,
        "keep_bytes": keep_mib * 1024**2,
        "certificate": tls_cert,
        "key": tls_key,
        "webhook": webhook,
    }
    node, tries = partial(joining.configuration, node_name, page=True, runs=not no_run), PORTS if port is None else 1
    in_words("serve", lambda: _start(cli, node, fields, tries=tries, qr=qr, phone=phone, json_logs=json_logs))


def _print_link(folder: Path) -> None:
    from handrail.bridge.web.running import new_link

    print(asyncio.run(new_link(folder)))


def _start(cli: str, node: Node, fields: dict[str, Any], *, tries: int, qr: bool, phone: bool, json_logs: bool) -> None:
    from handrail.bridge.configuration import Configuration
    from handrail.bridge.logs import log_to
    from handrail.bridge.process_memory import keep_memory_private
    from handrail.bridge.web.notifications import check_webhook
    from handrail.bridge.web.tls import tls_context
    from handrail.model_access.choice import CliChoice

    check_webhook(fields["webhook"])
    if phone:
        fields |= _for_phone(fields)
    if fields["certificate"]:
        tls_context(fields["certificate"], fields["key"])  # fail before anything is opened
    keep_memory_private()
    choice = CliChoice(cli)
    check_prewarm(fields["prewarm"], choice.current())  # fail before anything is opened
    configuration = Configuration(cli=choice, cluster=node(), **fields)
    log_to(as_json=json_logs)
    asyncio.run(_serve(configuration, tries=tries, qr=qr or phone))


def _for_phone(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a server that a phone can reach."""
    from handrail.bridge.web.phone import prepare_phone

    found = prepare_phone(fields["data"])
    return {
        "host": EVERY_ADDRESS,
        "names": (found.name, *fields["names"]),
        "certificate": found.certificate,
        "key": found.key,
        "fingerprint": found.fingerprint,
    }


def _check_address(host: str, certificate: Path | None, key: Path | None, *, insecure: bool) -> None:
    """Usage errors for an address that would be open to the network, or that cannot work."""
    from handrail.bridge.errors import AddressRefused
    from handrail.bridge.web.http_server import check_address

    if (certificate is None) != (key is None):
        raise typer.BadParameter("--tls-cert and --tls-key must be given together")
    try:
        check_address(host, secure=certificate is not None, insecure=insecure)
    except AddressRefused as error:
        raise typer.BadParameter(str(error)) from None


def _check_names(names: list[str]) -> None:
    """A usage error for an invalid name; the server would refuse browsers without an explanation."""
    from handrail.bridge.addresses import is_name

    if wrong := [name for name in names if not is_name(name)]:
        raise typer.BadParameter(f"invalid --name {wrong[0]}; use box.example, box.example:8443 or https://box.example")


def _check_proxy(base_path: str, proxies: list[str]) -> None:
    from handrail.bridge.addresses import is_base_path
    from handrail.bridge.web.forwarded import is_proxy

    if base_path.rstrip("/") and not is_base_path(base_path.rstrip("/")):
        raise typer.BadParameter(f"invalid --base-path {base_path}; use a path like /handrail")
    if wrong := [one for one in proxies if not is_proxy(one)]:
        raise typer.BadParameter(f"invalid --proxy {wrong[0]}; use an address or a network, like 10.0.0.0/8")


def _names(host: str, names: list[str]) -> tuple[str, ...]:
    """The given names; also the host name if the server listens on every address, because the link uses it."""
    from handrail.bridge.addresses import EVERYWHERE

    return (*names, *([socket.gethostname()] if host in EVERYWHERE else []))


# The server


async def _serve(configuration: Configuration, *, tries: int, qr: bool) -> None:
    from msgspec.structs import replace

    from handrail.bridge.server import Bridge
    from handrail.bridge.web.http_server import listen
    from handrail.bridge.web.running import remembered

    with listen(configuration.host, configuration.port, tries) as listener:
        given = replace(configuration, port=listener.getsockname()[1])
        bridge = Bridge(given)
        with remembered(given.data, given.own_address, shown=given.address, certificate=given.certificate):
            await _run(bridge, listener, Welcome(bridge, Terminal(), qr=qr).show)


async def _run(bridge: Bridge, listener: socket.socket, ready: Callable[[], Awaitable[None]]) -> None:
    """Serve until a signal; a second signal does not wait for clients."""
    from handrail.bridge import server
    from handrail.bridge.process_memory import tune_gc

    async with server.serve(bridge, insecure=True, listener=listener) as served:  # the address was checked already
        Stopping(served.stop).listen()
        await ready()
        tune_gc()
        await served.wait()
