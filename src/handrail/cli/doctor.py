"""`handrail doctor`: checks what is installed and configured. Exits with 1 if something needed is missing.

It reports whether keys are set, and never shows them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from handrail.cli.terminal import Terminal, one_line

__all__ = ["Check", "app", "checks"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
PACKAGES = {
    "msgspec": "",
    "nats-py": "optional, for sessions on many machines: pip install 'handrail[nats]'",
    "asyncpg": "optional, for a session store in PostgreSQL: pip install 'handrail[postgres]'",
}
"""The packages to check, with a hint for each optional one."""
MARKS = {"good": ("✓", "green"), "bad": ("✗", "red"), "info": ("·", "dim")}
HANDSHAKE_SECONDS = 20.0
GET_A_CLI = "install one: npm install -g @anthropic-ai/claude-code; or name one: --cli PATH or HANDRAIL_CLI=PATH"


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one check. `hint`: what to do next; `required`: without it no CLI can be used."""

    name: str
    state: Literal["good", "bad", "info"]
    text: str
    hint: str = ""
    required: bool = False


@app.command()
def doctor(
    cli: Annotated[
        str | None, typer.Option("--cli", metavar="PATH", help="The CLI to check. Default: the one that is found.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,  # noqa: FBT002
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The server's data folder. Default: ~/.handrail/bridge.")
    ] = None,
    attack: Annotated[str, typer.Option(metavar="URL", help="Only try web attacks on a running server.")] = "",
    patient: Annotated[bool, typer.Option("--patient", help="With --attack: also the slow attacks.")] = False,  # noqa: FBT002
) -> None:
    """Check the installation: the CLI, the keys (never shown), the folders of sessions, the sandbox and the store.

    ✓ works, ✗ needs attention, · is information. Exits with 0 if a CLI can be used, else with 1.

    \b
    Example:
      handrail doctor
      handrail doctor --json
      handrail doctor --attack http://127.0.0.1:8787
    """
    from handrail.cli.starting import folder_of

    terminal = Terminal()
    folder = folder_of(data)
    if attack:
        raise typer.Exit(_attack(terminal, attack, folder, patient=patient))
    if not as_json:
        terminal.status("checking…")
    found = list(checks(cli, folder))
    ready = not any(check.required and check.state == "bad" for check in found)
    if as_json:
        report = {"ready": ready, "checks": found}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    else:
        _print(terminal, found, ready=ready)
    raise typer.Exit(0 if ready else 1)


def _attack(terminal: Terminal, address: str, folder: Path, *, patient: bool) -> int:
    from handrail.bridge.errors import BridgeError
    from handrail.cli.attack import attack

    try:
        return 0 if attack(terminal, address, folder, patient=patient) else 1
    except BridgeError as error:
        print(f"handrail doctor: {error}", file=sys.stderr)
        return 1


def checks(cli: str | None = None, data: Path | None = None) -> Iterator[Check]:
    """All checks, in order. `cli` is the CLI to use instead of the installed one, `data` the folder of a server."""
    yield from _cli(cli)
    yield _new_sessions(cli)
    yield from _packages()
    yield from _keys()
    yield _sessions()
    yield from _processes()
    yield _cage()
    yield _sandbox()
    yield _temporary()
    if data is not None:
        yield from _store(data)


def _print(terminal: Terminal, found: list[Check], *, ready: bool) -> None:
    width = max(len(check.name) for check in found)
    for check in found:
        mark, style = MARKS[check.state]
        terminal.write(f"{mark} ", style)
        terminal.write(f"{check.name:<{width}}  ")
        terminal.write(one_line(check.text, 300), end="\n")
        if check.hint:
            terminal.line(
                f"{'':<{width + 4}}→ {one_line(check.hint, 300)}", "yellow" if check.state == "bad" else "dim"
            )
    terminal.line()
    if ready:
        terminal.line('Ready. Try: handrail run "What does this project do?"', "bold")
    else:
        terminal.line(
            "`claude` cannot be used yet; the lines marked ✗ say why. `handrail serve` and `handrail-agent` work "
            "without it.",
            "bold",
        )


# The CLI
def _cli(asked: str | None) -> Iterator[Check]:
    from handrail.client.errors import CliNotFound, HandrailError
    from handrail.client.find_cli import VARIABLE, cli_version, find_cli

    try:
        path = find_cli(asked)
    except HandrailError as error:
        text = f"not found; looked in {', '.join(error.looked)}" if isinstance(error, CliNotFound) else _reason(error)
        yield Check("CLI", "bad", text, GET_A_CLI, required=True)
        return
    on_path = shutil.which("claude")
    how = (
        "--cli"
        if asked
        else VARIABLE
        if os.environ.get(VARIABLE)
        else "on PATH"
        if on_path and os.path.abspath(on_path) == path
        else "a usual place of installers"
    )
    yield Check("CLI", "good", f"{path} ({how})")
    version = cli_version(path)
    if version:
        yield Check("CLI version", "good", version.splitlines()[0])
    else:
        yield Check("CLI version", "bad", f"{path} --version did not answer", "run it yourself to see why")
    yield asyncio.run(_handshake(path))


def _reason(error: Exception) -> str:
    """The error's text without the name of the option."""
    return str(error).removeprefix("Options.cli_path: ")


async def _handshake(path: str) -> Check:
    """Whether it speaks the protocol. It runs in an empty folder, reads no settings and keeps no session."""
    from handrail.client.errors import HandrailError
    from handrail.client.options import Options
    from handrail.client.session import Session

    with tempfile.TemporaryDirectory(prefix="handrail-doctor-") as folder:
        options = Options(cli_path=path, cwd=folder, persist_session=False, initialize_timeout=HANDSHAKE_SECONDS)
        try:
            async with Session(options) as session:
                info = session.server_info
        except HandrailError as error:
            hint = "this CLI cannot be used; --cli names another"
            return Check("handshake", "bad", str(error).replace("\n", " · "), hint, required=True)
    models = [model.value for model in info.models] if info else []
    return Check("handshake", "good", f"answered; models: {', '.join(models) or 'not reported'}", required=True)


def _new_sessions(asked: str | None) -> Check:
    """The CLI and the model that `run`, `serve` and `runner` would start now."""
    from handrail.model_access.choice import CliChoice, NoCli

    choice = CliChoice(asked or "")
    if problem := choice.problem:
        return Check("new sessions", "bad", problem, "`handrail connect` stores another model")
    try:
        chosen = choice.current(version=False)
    except NoCli as error:
        return Check("new sessions", "bad", str(error))
    hint = "connect a real model: handrail connect" if chosen.demo else ""
    return Check("new sessions", "info" if chosen.demo else "good", f"{chosen.name}, {chosen.model}", hint)


# Packages
def _packages() -> Iterator[Check]:
    from handrail.cli.printable import printable

    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("Python", "good", f"{version} ({printable(sys.executable)})")
    yield Check("handrail", "good", _version("handrail") or "not installed as a package (run from its sources)")
    for name, hint in PACKAGES.items():
        if found := _version(name):
            yield Check(name, "good", found)
        else:
            yield Check(name, "info" if hint else "bad", "not installed", hint or f"pip install {name}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


# Keys
def _keys() -> Iterator[Check]:
    from handrail.transcripts import config_home

    present = [name for name in KEYS if os.environ.get(name)]
    for name in KEYS:
        yield Check(name, "good" if name in present else "info", "set" if name in present else "not set")
    credentials = config_home() / ".credentials.json"
    if credentials.is_file():
        yield Check("credentials", "good", f"{credentials} exists")
    elif present:
        yield Check("credentials", "info", f"no {credentials}; the key above is used")
    else:
        hint = "sign in with the CLI (`claude`, then /login), or set ANTHROPIC_API_KEY"
        yield Check("credentials", "bad", f"no {credentials} and no key is set", hint)


# Files and processes
def _sessions() -> Check:
    from handrail.transcripts import projects_folder
    from handrail.transcripts.layout import session_files

    folder = projects_folder()
    count = sum(1 for _ in session_files(folder))
    found = f"{count} session{'' if count == 1 else 's'}"
    place = _existing(folder)
    if not os.access(place, os.W_OK | os.X_OK):
        hint = f"make {place} writable, or choose another folder with CLAUDE_CONFIG_DIR"
        return Check("sessions", "bad", f"{folder}: {found}, not writable", hint)
    return Check("sessions", "good", f"{folder}: {found}, writable")


def _existing(folder: Path) -> Path:
    return next((place for place in (folder, *folder.parents) if place.exists()), folder)


def _processes() -> Iterator[Check]:
    from handrail.platform import has, process_folder

    if not has("proc"):
        yield Check("process guard", "info", "process groups only; on Linux the kernel helps too")
        return
    setpriv = shutil.which("setpriv")
    hint = "install util-linux, so that the kernel ends the CLI when its parent dies"
    yield Check("setpriv", "good", setpriv) if setpriv else Check("setpriv", "info", "not found", hint)
    if process_folder():
        yield Check("process guard", "good", "leftover processes are found by their mark in /proc and killed")
    else:
        yield Check("process guard", "bad", "no /proc: processes outside of their group are not found", "mount /proc")


def _cage() -> Check:
    """The guard of commands that are allowed only because they read."""
    from handrail.cage.guards import find_guard, guard_problem

    guard = find_guard()
    if guard is None:
        hint = "without it more commands ask, and read-only commands are decided by their text alone"
        return Check("cage", "info", f"none: {guard_problem()}", hint)
    return Check("cage", "good", f"{guard.name}{guard.detail()}: commands that only read run in it")


def _sandbox() -> Check:
    """The guard of a session with `sandbox.enabled`."""
    from handrail.cage.guards import find_guard

    if program := shutil.which("bwrap"):
        return Check("sandbox", "good", f"bubblewrap ({program}), for sessions with sandbox.enabled")
    if guard := find_guard():
        hint = "install bubblewrap: it protects git hooks and settings in the project before a command, not after it"
        return Check("sandbox", "info", f"{guard.name}, for sessions with sandbox.enabled", hint)
    return Check("sandbox", "info", "none: sessions with sandbox.enabled run no command", "install bubblewrap")


def _temporary() -> Check:
    try:
        with tempfile.TemporaryFile(prefix="handrail-doctor-") as file:
            file.write(b"x")
            return Check("temporary files", "good", f"{tempfile.gettempdir()}: writable")
    except OSError as error:
        hint = "set TMPDIR to a folder that is writable"
        return Check("temporary files", "bad", error.strerror or str(error), hint, required=True)


# The server
def _store(folder: Path) -> Iterator[Check]:
    from handrail.bridge.store.integrity import check_store
    from handrail.bridge.store.ownership import holder

    path = folder / "handrail.db"
    if not path.is_file():
        yield Check("store", "info", f"no {path}: `handrail serve` creates it")
        return
    who = holder(folder)
    yield Check("server", "good" if who else "info", f"{who} uses {folder}" if who else f"no server uses {folder}")
    faults, summary = check_store(path)
    if faults:
        hint = f"stop the server and put a copy of {path} in its place; sqlite3 {path} .recover saves what can be read"
        yield Check("store", "bad", "; ".join(faults), hint, required=True)
    else:
        yield Check("store", "good", summary)
