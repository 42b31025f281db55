"""`handrail connect`: the model that sessions use on this machine."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated, Any

import typer

from handrail.cli.printable import printable

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

INSTALL = "install it with `npm install -g @anthropic-ai/claude-code`, then run `claude` to sign in"


@app.command()
def connect(
    *,
    key: Annotated[bool, typer.Option("--key", help="Use an API key, which is asked for or read from a pipe.")] = False,
    endpoint: Annotated[str, typer.Option(metavar="URL", help="Use a compatible endpoint; needs --model.")] = "",
    model: Annotated[str, typer.Option(metavar="NAME", help="The model. Default: the default of the agent.")] = "",
    claude: Annotated[bool, typer.Option("--claude", help="Use `claude` with its account.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Forget the connected model and delete its key.")] = False,
) -> None:
    """Connect a model, or show which one is connected.

    A key is checked with one small request and stored in ~/.config/handrail/model.json, readable by you only.
    `handrail run` and `handrail serve` use it, a running server from its next process on.

    \b
    Examples:
      handrail connect
      handrail connect --key
      handrail connect --key --endpoint https://models.example.com --model house-model < key.txt
      handrail connect --claude
    """
    from handrail.model_access.stored import InvalidAccess, ModelAccess

    if sum((key or bool(endpoint), claude, forget)) > 1:
        raise typer.BadParameter("choose one of --key, --claude and --forget")
    try:
        if forget:
            _forget()
        elif claude:
            _connect_claude()
        elif key or endpoint:
            _connect_api(ModelAccess("api", _read_key() if key else "", endpoint, model))
        elif model:
            raise typer.BadParameter("--model needs --key or --endpoint")
        else:
            _show()
    except InvalidAccess as error:
        print(f"handrail connect: {printable(str(error))}", file=sys.stderr)
        raise typer.Exit(1) from None


def _read_key() -> str:
    """The key is never an argument, because other users can see the arguments of a process."""
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass("API key (not shown): ")
    return sys.stdin.readline(65536)


def _connect_api(access: Any) -> None:
    from handrail.model_access.check import check_access
    from handrail.model_access.stored import save_access

    checked = access.check()
    asyncio.run(check_access(checked))
    path = save_access(checked)
    print(f"connected: the key was accepted and stored in {path}")
    _show()


def _connect_claude() -> None:
    from handrail.client.errors import CliNotFound
    from handrail.client.find_cli import find_cli
    from handrail.model_access.stored import InvalidAccess, ModelAccess, save_access

    try:
        find_cli(None, {**os.environ, "HANDRAIL_CLI": ""})
    except CliNotFound:
        raise InvalidAccess(f"claude is not installed; {INSTALL}") from None
    save_access(ModelAccess("claude"))
    _show()


def _forget() -> None:
    from handrail.model_access.stored import forget_access

    print("the connected model was forgotten" if forget_access() else "no model was connected")
    _show()


def _show() -> None:
    from handrail.model_access.choice import CliChoice, NoCli

    choice = CliChoice()
    if choice.problem:
        print(f"The connected model is not used: {choice.problem}")
    try:
        cli = choice.current()
    except NoCli as error:
        print(printable(str(error)))
        return
    if cli.demo:
        print("Demo mode: no model is connected. Use --key, --endpoint or --claude.")
        return
    access = choice.access
    at = f" at {access.endpoint}" if access is not None and access.endpoint else ""
    print(printable(f"{cli.name} answers, with {cli.model}{at}"))
