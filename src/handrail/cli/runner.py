"""`handrail runner`: sessions on this machine, for the gateways of a cluster. Runs until it is stopped.

What a person needs goes to stdout in two lines; what goes wrong later goes to stderr as log lines.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.cluster_options import Joining, joining
from handrail.cli.starting import folder_of, in_words, roots_of
from handrail.cli.stopping import Stopping
from handrail.cli.terminal import Terminal

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.configuration import Configuration

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

HIBERNATE_SECONDS = 900.0

Root = Annotated[
    list[Path] | None, typer.Option(metavar="DIR", help="Where sessions may work; else here and in your home.")
]
PassEnv = Annotated[list[str] | None, typer.Option(metavar="NAME", help="One more variable that the CLI gets.")]
Name = Annotated[str, typer.Option("--name", "--node-name", metavar="WORD", help="Its name; else the machine's.")]


@app.command()
@joining
def runner(
    *,
    name: Name = "",
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Its folder; else ~/.handrail/bridge.")] = None,
    root: Root = None,
    cli: Annotated[str, typer.Option(metavar="PATH|claude|agent", help="Who answers; else the best there is.")] = "",
    allow_bypass: Annotated[bool, typer.Option("--allow-bypass", help="Clients may choose bypassPermissions.")] = False,
    pass_env: PassEnv = None,
    hibernate: Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Idle processes end after so long.")] = (
        HIBERNATE_SECONDS
    ),
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Log lines as JSON.")] = False,
    joining: Joining,
) -> None:
    """Run sessions on this machine for the gateways of a cluster, until Ctrl-C.

    Its sessions may be taken up by another machine when this one is gone (--move); without NATS they stop in time.
    With --stay they go on without NATS, and nobody else has them.

    \b
    Example:
      handrail runner --cluster tls://nats1:4222,tls://nats2:4222 --ca ca.pem --credentials runner.nk
      handrail runner --cluster nats://127.0.0.1:4222 --name big --root ~/projects --label gpu --most-sessions 20
    """
    if not joining.way.cluster:
        raise typer.BadParameter("a runner belongs to a cluster: say where NATS is", param_hint="--cluster")
    told: dict[str, Any] = {
        "data": folder_of(data),
        "roots": roots_of(root),
        "allow_bypass": allow_bypass,
        "pass_env": tuple(pass_env or ()),
        "hibernate_after": hibernate,
    }
    node = partial(joining.configuration, name, page=False, runs=True)
    in_words("runner", lambda: _start(cli, node, told, json_logs=json_logs))


def _start(cli: str, node: partial[Any], told: dict[str, Any], *, json_logs: bool) -> None:
    from handrail.bridge.configuration import Configuration
    from handrail.bridge.logs import log_to
    from handrail.bridge.memory_privacy import keep_memory_private
    from handrail.bridge.session.cli import which_cli

    cluster = node()
    keep_memory_private()
    log_to(as_json=json_logs)
    with contextlib.suppress(asyncio.CancelledError):  # it was told twice to stop
        asyncio.run(_run(Configuration(cli=which_cli(cli), cluster=cluster, **told)))


async def _run(told: Configuration) -> None:
    """A bridge without a web server, until a signal; a second one ends it without waiting for anybody."""
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.memory_allocation import look_for_rubbish_less_often

    running = asyncio.current_task()
    stopped = asyncio.Event()

    def stop() -> None:
        if stopped.is_set() and running is not None:
            running.cancel()
        stopped.set()

    Stopping(stop).listen()
    async with Bridge(told) as bridge:
        _greet(bridge, Terminal())
        look_for_rubbish_less_often()
        await stopped.wait()


def _greet(bridge: Bridge, terminal: Terminal) -> None:
    """Two lines: who it is, where it is connected."""
    from importlib.metadata import version

    told, cli = bridge.configuration.cluster, bridge.configuration.cli
    assert told is not None
    assert bridge.cluster is not None
    named = f"{'claude' if cli.kind == 'claude' else 'handrail-agent'} {cli.version}".rstrip()
    keeps = "may be taken up elsewhere" if told.moves else "stay here"
    terminal.line(f"Handrail {version('handrail')} runs sessions as {told.name}: {named} answers, they {keeps}", "bold")
    link = bridge.cluster.link
    where = link.nats.connected_url
    if link.is_up and where is not None:
        terminal.line(f"Connected to NATS at {where.netloc} (Ctrl-C stops it)")
    else:
        terminal.line(f"Waits for NATS at {told.address.shown} (Ctrl-C stops it)")
    terminal.out.flush()
