"""`handrail serve`: the bridge. In: an address, a data folder, a CLI. Out: a link to open; runs until it is stopped.

What a person needs goes to stdout in three lines; what goes wrong later goes to stderr as log lines.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.terminal import Terminal

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.configuration import Configuration

__all__ = ["app", "listen"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

PORT = 8787
PORTS = 11
"""How many are tried where no port was named."""
HIBERNATE_SECONDS = 900.0


Root = Annotated[
    list[Path] | None, typer.Option(metavar="DIR", help="A folder in which sessions may work; else your home.")
]
Seed = Annotated[bool, typer.Option("--seed-protocol", help="A token for clients that can only set a URL.")]
Hibernate = Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Idle processes end after so long.")]


@app.command()
def serve(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help=f"The port; else {PORT} or the next free.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Its folder; else ~/.handrail/bridge.")] = None,
    root: Root = None,
    cli: Annotated[str, typer.Option(metavar="PATH|claude|agent", help="Who answers; else the best there is.")] = "",
    name: Annotated[list[str] | None, typer.Option(metavar="HOST", help="One more name it is reached by.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate, as PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key, as PEM.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Listen beyond this machine without TLS.")] = False,
    allow_bypass: Annotated[bool, typer.Option("--allow-bypass", help="Clients may choose bypassPermissions.")] = False,
    seed_protocol: Seed = False,
    hibernate: Hibernate = HIBERNATE_SECONDS,
    keep_days: Annotated[float, typer.Option(min=0, help="Delete sessions unused for so long; 0: never.")] = 0.0,
    keep_mib: Annotated[int, typer.Option(min=0, help="Above this delete the oldest sessions; 0: never.")] = 0,
    webhook: Annotated[str, typer.Option(metavar="URL", help="Told when a session needs you or is done.")] = "",
    qr: Annotated[bool, typer.Option("--qr", help="The link as a QR code too.")] = False,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Log lines as JSON.")] = False,
    link: Annotated[bool, typer.Option("--link", help="Only print a new link of the running server.")] = False,
) -> None:
    """Serve sessions to browsers, phones and programs, on this machine, until Ctrl-C.

    It prints a link that is good once, for ten minutes; whoever opens it is let in. Enter prints another one.

    \b
    Example:
      handrail serve
      handrail serve --root ~/projects --qr
    """
    folder = (data or Path.home() / ".handrail" / "bridge").expanduser().absolute()
    if link:
        return _in_words(lambda: _print_link(folder))
    _check_address(host, tls_cert, tls_key, insecure=insecure)
    told: dict[str, Any] = {
        "data": folder,
        "host": host,
        "port": PORT if port is None else port,
        "roots": _folders(root) or (Path.home(),),
        "names": tuple(name or ()),
        "allow_bypass": allow_bypass,
        "seed_protocol": seed_protocol,
        "hibernate_after": hibernate,
        "keep_days": keep_days,
        "keep_bytes": keep_mib * 1024**2,
        "certificate": tls_cert,
        "key": tls_key,
        "webhook": webhook,
    }
    tries = PORTS if port is None else 1
    _in_words(lambda: _start(cli, told, tries=tries, qr=qr, json_logs=json_logs))


def _in_words(work: Callable[[], None]) -> None:
    """Do it; what goes wrong is one sentence and exit code 1."""
    from handrail.bridge.errors import BridgeError

    try:
        work()
    except (BridgeError, OSError) as error:
        print(f"handrail serve: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def _print_link(folder: Path) -> None:
    from handrail.bridge.running import new_link

    print(asyncio.run(new_link(folder)))


def _start(cli: str, told: dict[str, Any], *, tries: int, qr: bool, json_logs: bool) -> None:
    from handrail.bridge.configuration import Configuration
    from handrail.bridge.logs import log_to
    from handrail.bridge.webhook import check_webhook
    from handrail.bridge.which_cli import which_cli

    check_webhook(told["webhook"])
    configuration = Configuration(cli=which_cli(cli), **told)
    log_to(as_json=json_logs)
    asyncio.run(_serve(configuration, tries=tries, qr=qr))


def _check_address(host: str, certificate: Path | None, key: Path | None, *, insecure: bool) -> None:
    """Usage errors where what was asked for would be open to the network, or cannot work."""
    if (certificate is None) != (key is None):
        raise typer.BadParameter("--tls-cert and --tls-key go together")
    for path in (certificate, key):
        if path is not None and not os.access(path, os.R_OK):
            raise typer.BadParameter(f"{path} cannot be read")
    if not (_is_loopback(host) or certificate or insecure):
        raise typer.BadParameter(
            f"{host} is beyond this machine, and without TLS everybody on the way can read along: "
            "give --tls-cert and --tls-key, or --insecure where the network itself is private"
        )


def _is_loopback(host: str) -> bool:
    return host in ("127.0.0.1", "::1", "localhost")


def _folders(given: list[Path] | None) -> tuple[Path, ...]:
    folders = tuple(path.expanduser().absolute() for path in given or ())
    if missing := [path for path in folders if not path.is_dir()]:
        raise typer.BadParameter(f"--root {missing[0]} is no folder")
    return folders


# The server


async def _serve(configuration: Configuration, *, tries: int, qr: bool) -> None:
    from msgspec.structs import replace

    from handrail.bridge.bridge import Bridge
    from handrail.bridge.running import remembered

    with listen(configuration.host, configuration.port, tries) as listener:
        configuration = replace(configuration, port=listener.getsockname()[1])
        bridge = Bridge(configuration)
        with remembered(configuration.data, _address(configuration), configuration.certificate):
            await _run(bridge, listener, lambda: _welcome(bridge, Terminal(), qr=qr))


def listen(host: str, port: int, tries: int) -> socket.socket:
    """A socket on the port, or on the first free one after it. OSError that says what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, port + tries):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise OSError(f"cannot listen on {host} port {candidate}: {error.strerror or error}") from None
            continue
        return listener
    ports = f"port {port} is" if tries == 1 else f"the ports {port} to {port + tries - 1} are"
    raise OSError(f"{ports} in use: stop who uses it, or name another with --port (0 takes any that is free)")


async def _run(bridge: Bridge, listener: socket.socket, ready: Callable[[], Awaitable[None]]) -> None:
    """The web server, until a signal; a second one ends it without waiting for anybody."""
    from handrail.bridge import server

    async with server.serve(bridge, insecure=True, listener=listener) as served:  # the address was checked before
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, served.stop)
        await ready()
        await served.wait()


# What a person sees


async def _welcome(bridge: Bridge, terminal: Terminal, *, qr: bool) -> None:
    from importlib.metadata import version

    cli = bridge.configuration.cli
    terminal.line(f"Handrail {version('handrail')} serves {_address(bridge.configuration)} (Ctrl-C stops it)", "bold")
    named = "claude" if cli.kind == "claude" else "handrail-agent"
    terminal.line(f"{named} {cli.version} answers, with {cli.model}")
    if bridge.configuration.seed_protocol:
        terminal.line(f"seed protocol: {_address(bridge.configuration, 'ws')}/?token={await _seed_token(bridge)}")
    await _show_link(bridge, terminal, qr=qr)
    if terminal.interactive:
        asyncio.get_running_loop().add_reader(0, _on_enter, bridge, terminal)


async def _show_link(bridge: Bridge, terminal: Terminal, *, qr: bool = False) -> None:
    link = f"{_address(bridge.configuration)}/#link={await bridge.access.make_link()}"
    terminal.line(f"Open {link}")
    if qr:
        import segno

        segno.make(link, error="m").terminal(terminal.out, compact=True)
    terminal.out.flush()


_showing: set[asyncio.Task[None]] = set()


def _on_enter(bridge: Bridge, terminal: Terminal) -> None:
    """A link is good once: Enter gives the next."""
    if not os.read(0, 4096):
        asyncio.get_running_loop().remove_reader(0)
        return
    task = asyncio.ensure_future(_show_link(bridge, terminal))
    _showing.add(task)
    task.add_done_callback(_showing.discard)


def _address(configuration: Configuration, scheme: str = "http") -> str:
    secure = "s" if configuration.certificate else ""
    host = next(iter(configuration.names), configuration.host)
    if host in ("0.0.0.0", "::"):  # noqa: S104 - every address: the machine's name leads there
        host = socket.gethostname()
    return f"{scheme}{secure}://{f'[{host}]' if ':' in host else host}:{configuration.port}"


async def _seed_token(bridge: Bridge) -> str:
    """The token of clients that can only set a URL. It stays the same until it is revoked."""
    from handrail.bridge.running import write_private

    path = bridge.configuration.data / "seed-token"
    known = path.read_text().strip() if path.is_file() else ""
    if bridge.access.device(known) is not None:
        return known
    _, token = await bridge.access.add_device("seed protocol", "seed", ("prompt", "approve"))
    write_private(path, token)
    return token
