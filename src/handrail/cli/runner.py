"""`handrail runner`: runs sessions for the gateways of a cluster until it is stopped.

The start-up lines go to stdout, log lines to stderr.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.cluster_options import Joining, joining
from handrail.cli.starting import Prewarm, check_prewarm, folder_of, in_words, roots_of
from handrail.cli.stopping import Stopping
from handrail.cli.terminal import Terminal

if TYPE_CHECKING:
    from handrail.bridge.configuration import Configuration
    from handrail.bridge.server import Bridge

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

HIBERNATE_SECONDS = 900.0

Root = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="A folder in which sessions may work. Default: this folder and your home."),
]
PassEnv = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Pass this environment variable to the CLI.")]
Name = Annotated[
    str, typer.Option("--name", "--node-name", metavar="WORD", help="Its name in the cluster. Default: the host name.")
]


@app.command()
@joining
def runner(
    *,
    name: Name = "",
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The data folder. Default: ~/.handrail/bridge.")
    ] = None,
    root: Root = None,
    cli: Annotated[
        str, typer.Option(metavar="claude|agent|NAME|PATH", help="The CLI. `handrail agents list` shows names.")
    ] = "",
    allow_bypass: Annotated[
        bool, typer.Option("--allow-bypass", help="Let clients choose the mode bypassPermissions.")
    ] = False,
    pass_env: PassEnv = None,
    hibernate: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="End a CLI process that is idle for this long.")
    ] = (HIBERNATE_SECONDS),
    prewarm: Prewarm = 0,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Log as JSON.")] = False,
    joining: Joining,
) -> None:
    """Run sessions on this machine for the gateways of a cluster, until Ctrl-C.

    With --move other machines take its sessions over when this one fails, and without NATS its sessions stop.
    With --stay its sessions are bound to this machine and keep running without NATS.

    \b
    Example:
      handrail runner --cluster tls://nats1:4222,tls://nats2:4222 --ca ca.pem --credentials runner.nk
      handrail runner --cluster nats://127.0.0.1:4222 --name big --root ~/projects --label gpu --most-sessions 20
    """
    if not joining.way.cluster:
        raise typer.BadParameter("a runner needs a cluster; give the addresses of NATS", param_hint="--cluster")
    told: dict[str, Any] = {
        "data": folder_of(data),
        "roots": roots_of(root),
        "allow_bypass": allow_bypass,
        "pass_env": tuple(pass_env or ()),
        "hibernate_after": hibernate,
        "prewarm": prewarm,
    }
    node = partial(joining.configuration, name, page=False, runs=True)
    in_words("runner", lambda: _start(cli, node, told, json_logs=json_logs))


def _start(cli: str, node: partial[Any], told: dict[str, Any], *, json_logs: bool) -> None:
    from handrail.bridge.configuration import Configuration
    from handrail.bridge.logs import log_to
    from handrail.bridge.process_memory import keep_memory_private
    from handrail.model_access.choice import CliChoice

    cluster, choice = node(), CliChoice(cli)
    check_prewarm(told["prewarm"], choice.current())  # fail before anything is opened
    keep_memory_private()
    log_to(as_json=json_logs)
    with contextlib.suppress(asyncio.CancelledError):  # a second signal
        asyncio.run(_run(Configuration(cli=choice, cluster=cluster, **told)))


async def _run(told: Configuration) -> None:
    """Run a bridge without a web server until a signal; a second signal does not wait."""
    from handrail.bridge.process_memory import tune_gc
    from handrail.bridge.server import Bridge

    running = asyncio.current_task()
    stopped = asyncio.Event()

    def stop() -> None:
        if stopped.is_set() and running is not None:
            running.cancel()
        stopped.set()

    Stopping(stop).listen()
    async with Bridge(told) as bridge:
        _greet(bridge, Terminal())
        tune_gc()
        await stopped.wait()


def _greet(bridge: Bridge, terminal: Terminal) -> None:
    """Print the name of the machine, and the NATS server it is connected to."""
    from importlib.metadata import version

    told, cli = bridge.configuration.cluster, bridge.configuration.cli.current()
    assert told is not None
    assert bridge.cluster is not None
    keeps = "can move to other machines" if told.moves else "stay on this machine"
    terminal.line(
        f"Handrail {version('handrail')} runs sessions as {told.name}: {cli.name} answers, they {keeps}", "bold"
    )
    link = bridge.cluster.link
    where = link.nats.connected_url
    if link.is_up and where is not None:
        terminal.line(f"Connected to NATS at {where.netloc} (Ctrl-C stops it)")
    else:
        terminal.line(f"Waiting for NATS at {told.address.shown} (Ctrl-C stops it)")
    terminal.out.flush()
