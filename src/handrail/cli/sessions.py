"""`handrail sessions`: the sessions on this machine, as text or JSON."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Iterable
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import msgspec
import typer

from handrail import transcripts
from handrail.cli.printable import as_json_escapes, printable
from handrail.errors import HandrailError
from handrail.transcripts import InvalidSessionId, SessionInfo, Subagent, Transcript
from handrail.transcripts.export import damage_text, jsonl, markdown

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["app"]

app = typer.Typer(
    help="List, show, search, export, rename and delete the sessions on this machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

SessionId = Annotated[str, typer.Argument(metavar="ID", help="A session id, or the beginning of one.")]
Directory = Annotated[Path | None, typer.Option("--directory", "-d", help="Only sessions of this working directory.")]
Cli = Annotated[str, typer.Option(metavar="claude|agent", help="Only sessions of this CLI.")]
Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The server's data folder. Default: ~/.handrail/bridge.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Format(Enum):
    """The forms a conversation can be exported in."""

    markdown = "markdown"
    jsonl = "jsonl"


@app.command("list")
def list_command(
    directory: Directory = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, metavar="N", help="Show at most N; 0: all.")] = 50,
    cli: Cli = "",
    as_json: AsJson = False,  # noqa: FBT002 - typer's way to declare a flag
) -> None:
    """List the sessions, newest first. In a pipe: id, time, directory and title, separated by tabs.

    It includes the sessions of `claude`, `handrail run` and `handrail serve` on this machine.

    \b
    Example:
      handrail sessions list --directory . --limit 10
      handrail sessions list --cli agent
    """
    with _errors_in_one_line():
        found = _listed(directory, limit, _kind(cli))
        if as_json:
            _print_json(found)
        elif sys.stdout.isatty():
            _print_table(found)
        else:
            for info in found:
                typer.echo("\t".join(map(_on_one_line, (info.id, _time(info), info.cwd or "", info.title))))
        if not found:
            typer.echo("no sessions found", err=True)


@app.command()
def show(
    session: SessionId,
    last: Annotated[int, typer.Option("--last", min=0, metavar="N", help="Show the last N messages; 0: all.")] = 0,
    subagents: Annotated[bool, typer.Option("--subagents", help="Include the conversations of subagents.")] = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Print one conversation.

    \b
    Example:
      handrail sessions show 3f2a91c0 --last 6
    """
    with _errors_in_one_line():
        info = transcripts.match_session(session)
        transcript = transcripts.read_session(info.id)
        transcript = msgspec.structs.replace(transcript, messages=transcript.messages[-last:])
        agents = transcripts.read_subagents(info.id) if subagents else []
        if as_json:
            _print_json(_as_data(info, transcript, agents))
            return
        _print_all(markdown(transcript, info.title))
        for agent in agents:
            inner = Transcript(agent.agent_id, agent.path, agent.messages, [], agent.damage)
            _print_all(markdown(inner, f"Subagent {agent.agent_type or ''}: {agent.description or ''}"))


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="TEXT", help="The text to find; case is ignored.")],
    directory: Directory = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="Show at most N matches.")] = 50,
    cli: Cli = "",
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Search the conversations. Prints one line per match: session, role, and the text around it.

    \b
    Example:
      handrail sessions search "flaky test"
    """
    with _errors_in_one_line():
        if not query.strip():
            raise _Usage("search for at least one visible character")
        kind = _kind(cli)
        hits = transcripts.search_sessions(query, directory, limit if kind is None else None)
        hits = islice((hit for hit in hits if _is_of(hit.session.id, kind)), limit)
        if as_json:
            _print_json([*hits])
            return
        found = False
        for hit in hits:
            found = True
            typer.echo(_on_one_line(f"{hit.session.id[:8]}  {hit.role:<9}  {hit.snippet}"))
        if not found:
            typer.echo("nothing found", err=True)


@app.command()
def export(
    session: SessionId,
    form: Annotated[Format, typer.Option("--format", "-f", help="The file format.")] = Format.markdown,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A new file. Default: standard output.")
    ] = None,
) -> None:
    """Write one conversation to a file or to standard output.

    \b
    Example:
      handrail sessions export 3f2a91c0 --format markdown --output talk.md
    """
    with _errors_in_one_line():
        info = transcripts.match_session(session)
        transcript = transcripts.read_session(info.id)
        if form is Format.jsonl:
            parts = jsonl(transcript)
        else:
            parts = (_safe(part).encode() for part in markdown(transcript, info.title))
        if output is not None:
            _write_new(output, parts)
        elif sys.stdout.isatty():
            _print_all(part.decode("utf-8", "replace") for part in parts)
        else:
            sys.stdout.buffer.writelines(parts)
        if transcript.damage.total:
            typer.echo(_on_one_line(f"damage in {info.path}: {damage_text(transcript)}"), err=True)


@app.command()
def rename(
    session: SessionId, title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")], data: Data = None
) -> None:
    """Give a session a title. The CLI and the page of a running server show it too.

    \b
    Example:
      handrail sessions rename 3f2a91c0 "The flaky test"
    """
    with _errors_in_one_line():
        info = transcripts.match_session(session)
        if not _tell_server(data, "rename", session=info.id, title=title):
            transcripts.rename_session(info.id, title)


@app.command()
def delete(
    session: SessionId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,  # noqa: FBT002
    data: Data = None,
) -> None:
    """Delete a session with its subagents and tool results, also from a running server. This cannot be undone.

    \b
    Example:
      handrail sessions delete 3f2a91c0
    """
    with _errors_in_one_line():
        info = transcripts.match_session(session)
        if not yes:
            question = f"Delete session {info.id} ({info.title}, {_size(info.size)})?"
            typer.confirm(_on_one_line(question), abort=True, err=True)
        if not _tell_server(data, "delete", session=info.id, transcript=True):
            transcripts.delete_session(info.id)


# The same list as the page


def _kind(cli: str) -> str | None:
    """The kind of CLI that `--cli` names; None for any."""
    from handrail.model_access.choice import kind_of

    if cli and cli not in ("claude", "agent") and not os.path.exists(cli):
        raise _Usage(f"unknown --cli {cli}; use claude or agent")
    return kind_of(cli) if cli else None


def _is_of(session_id: str, kind: str | None) -> bool:
    return kind is None or transcripts.is_written_by_agent(session_id) == (kind == "agent")


def _listed(directory: Path | None, limit: int, kind: str | None) -> list[SessionInfo]:
    if kind is None:
        return transcripts.list_sessions(directory, limit or None)
    return [one for one in transcripts.list_sessions(directory) if _is_of(one.id, kind)][: limit or None]


def _tell_server(data: Path | None, command: str, **fields: Any) -> bool:
    """Run a command on the running server, so that its list is up to date.

    Returns False if no server runs, or if it does not know the session.
    """
    import asyncio

    from handrail.cli.starting import folder_of

    folder = folder_of(data)
    if not (folder / "handrail.db").is_file():
        return False
    from handrail.bridge.web.running import come_in, running_address

    if not running_address(folder):
        return False

    async def ask() -> dict[str, Any]:
        order = {"id": str(uuid4()), "command": command, "fields": fields}
        async with come_in(folder, "handrail sessions") as client:
            return (await client.post("/api/commands", json=order)).json()

    answer = asyncio.run(ask())
    if answer.get("ok"):
        return True
    error = answer["error"]
    if error["code"] == "not_found":
        return False
    raise _Usage(error["message"])


class _Usage(Exception):
    """Invalid arguments."""


@contextlib.contextmanager
def _errors_in_one_line() -> Generator[None]:
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Flushing the rest of the buffer at exit would fail once more.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (HandrailError, OSError, _Usage) as error:
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        typer.echo(_on_one_line(f"handrail sessions: {reason}"), err=True)
        raise typer.Exit(2 if isinstance(error, InvalidSessionId | _Usage) else 1) from None


def _safe(text: str) -> str:
    encoding = sys.stdout.encoding or "utf-8"
    return printable(text).encode(encoding, "backslashreplace").decode(encoding)


def _on_one_line(text: str) -> str:
    return _safe(text).replace("\n", "\\n").replace("\t", "\\t")


def _print_all(parts: Iterable[str]) -> None:
    for part in parts:
        typer.echo(_safe(part), nl=False)


def _print_json(value: Any) -> None:
    text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()
    # JSON has its own escapes for unprintable characters, and is always UTF-8.
    typer.echo(as_json_escapes(text).encode())


def _print_table(found: list[SessionInfo]) -> None:
    from rich.console import Console

    Console().print(_table(found))


def _table(found: list[SessionInfo]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("ID", no_wrap=True, min_width=8)
    table.add_column("Last used", no_wrap=True, min_width=16)
    table.add_column("Directory", no_wrap=True, overflow="ellipsis", max_width=40)
    table.add_column("Title", no_wrap=True, overflow="ellipsis", ratio=1)
    for info in found:
        # Text, not str: a title must not be interpreted as markup.
        table.add_row(*(Text(_on_one_line(cell)) for cell in (info.id[:8], _time(info), info.cwd or "", info.title)))
    return table


def _time(info: SessionInfo) -> str:
    return info.modified.astimezone().strftime("%Y-%m-%d %H:%M")


def _size(count: int) -> str:
    return f"{count} bytes" if count < 1024 else f"{count / 1024:.0f} KiB"


def _as_data(info: SessionInfo, transcript: Transcript, agents: list[Subagent]) -> dict[str, Any]:
    return {
        "session": info,
        "messages": [entry.decode() for entry in transcript.messages],
        "damage": transcript.damage,
        "subagents": [
            {
                "agent_id": agent.agent_id,
                "agent_type": agent.agent_type,
                "description": agent.description,
                "tool_use_id": agent.tool_use_id,
                "messages": [entry.decode() for entry in agent.messages],
            }
            for agent in agents
        ],
    }


def _write_new(path: Path, parts: Iterable[bytes]) -> None:
    # Conversations contain secrets: only the owner may read the file, and no existing file is overwritten.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(parts)
