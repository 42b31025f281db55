"""Several versions of the Claude CLI beside each other: which checks agree, and what each version writes.

The versions are installed with npm into a cache folder. Each runs the chosen checks, and one session in which its
output is collected: message types and their fields, tools, slash commands, fields of the handshake. The report lists
what appeared and what vanished between two neighbouring versions, and what `handrail.schema` does not know yet.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec

from handrail.agent.models.script import text, tool_use
from handrail.conform.battery import Outcome, run_battery
from handrail.conform.bench import Bench
from handrail.conform.check import Check, Drift, Json
from handrail.conform.lab import Lab
from handrail.conform.lines import nested, of_type
from handrail.conform.messages_api import ScriptedMessagesApi
from handrail.errors import MachineError
from handrail.schema.message_view import UnknownMessage
from handrail.schema.messages import read_message

__all__ = ["VersionReport", "VersionsFailed", "compare_versions", "report_page"]

PACKAGE = "@anthropic-ai/claude-code"
SESSION_SECONDS = 120.0


class VersionsFailed(MachineError):
    """The versions could not be listed or installed."""


class VersionReport(msgspec.Struct, frozen=True):
    """One version. `facts` are what it wrote in one session, `unknown` those that are missing in the schema."""

    version: str
    outcomes: list[Outcome]
    facts: list[str]
    unknown: list[str]

    @property
    def drifted(self) -> list[Outcome]:
        """The checks that do not agree."""
        return [outcome for outcome in self.outcomes if outcome.verdict == "drifted"]


async def compare_versions(
    count: int, checks: Iterable[Check], *, jobs: int, limit: float
) -> AsyncIterator[VersionReport]:
    """Install and examine the newest versions, the oldest of them first. Raises VersionsFailed."""
    chosen = list(checks)
    for version in await _newest(count):
        command = [str(await _installed(version))]
        outcomes = [outcome async for outcome in run_battery(command, chosen, jobs=jobs, limit=limit)]
        facts, unknown = await _observed(command)
        yield VersionReport(version, sorted(outcomes, key=lambda one: one.name), facts, unknown)


# npm


async def _npm(*arguments: str) -> bytes:
    program = shutil.which("npm")
    if program is None:
        raise VersionsFailed("npm was not found; install Node.js, which installs the versions of the CLI")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(program, *arguments, stdout=pipe, stderr=pipe)
    out, err = await process.communicate()
    if process.returncode:
        why = (err.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise VersionsFailed(f"npm {arguments[0]} failed: {why}")
    return out


async def _newest(count: int) -> list[str]:
    listed = await _npm("view", PACKAGE, "versions", "--json")
    try:
        versions = msgspec.json.decode(listed, type=list[str])
    except msgspec.MsgspecError as error:
        raise VersionsFailed(f"npm view printed no list of versions: {error}") from None
    return [version for version in versions if "-" not in version][-count:]


async def _installed(version: str) -> Path:
    """The executable of a version, installed if it is missing. The folder gets its name once it is complete."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "handrail" / "cli"
    if not (cache / version).exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=cache, ignore_cleanup_errors=True) as folder:
            quiet = ("--silent", "--no-audit", "--no-fund")
            await _npm("install", *quiet, "--prefix", f"{folder}/new", f"{PACKAGE}@{version}")
            with suppress(OSError):  # another process was faster
                (Path(folder) / "new").rename(cache / version)
    return cache / version / "node_modules" / ".bin" / "claude"


# What a version writes


async def _observed(command: list[str]) -> tuple[list[str], list[str]]:
    """The facts of one session with a tool call, and the unknown ones among them."""
    with tempfile.TemporaryDirectory(prefix="handrail-versions-", ignore_cleanup_errors=True) as folder:
        async with ScriptedMessagesApi() as api:
            bench = Bench(command, Lab(Path(folder)), api)
            bench.says([text("Looking."), tool_use("Bash", command="touch seen")], text("Done."))
            try:
                async with asyncio.timeout(SESSION_SECONDS):
                    agent = await bench.start("--include-partial-messages", answers={"can_use_tool": _allow})
                    handshake = await agent.request("initialize")
                    await agent.turn("look around")
                    await agent.end()
            except (TimeoutError, Drift) as error:
                return [f"the session did not end: {error or bench.waiting_for}"], []
            finally:
                await bench.close()
            requests = [one.body for one in bench.model.main_requests]
    facts = {*_of_lines(agent.lines), *_of_handshake(nested(handshake, "response"))}
    facts |= {f"model request: field {name}" for body in requests for name in body}
    return sorted(facts), sorted({fact for line in agent.lines for fact in _unknown(line)})


def _allow(request: Json) -> Json:
    return {"behavior": "allow", "updatedInput": nested(nested(request, "request"), "input")}


def _kind(line: Json) -> str:
    return "/".join(str(word) for word in (line.get("type"), line.get("subtype")) if word)


def _of_lines(lines: list[Json]) -> Iterable[str]:
    for line in lines:
        yield from (f"{_kind(line)}: field {name}" for name in line)
        request = nested(line, "request")
        yield from (f"request {request.get('subtype')}: field {name}" for name in request)
    for line in of_type(lines, "system", "init"):
        for list_name in ("tools", "slash_commands", "agents", "skills"):
            yield from (f"{list_name}: {one}" for one in _strings(line.get(list_name)))


def _of_handshake(response: Json) -> Iterable[str]:
    for name, value in response.items():
        yield f"initialize: field {name}"
        for one in cast("list[Any]", value) if isinstance(value, list) else ():
            if isinstance(one, dict):
                yield from (f"initialize {name}: field {field}" for field in cast("Json", one))


def _strings(value: Any) -> list[str]:
    return [one for one in cast("list[Any]", value) if isinstance(one, str)] if isinstance(value, list) else []


def _unknown(line: Json) -> Iterable[str]:
    if str(line.get("type", "")).startswith("control_"):
        return
    view = read_message(str(line.get("type", "")), str(line.get("subtype", "")), msgspec.json.encode(line))
    if isinstance(view, UnknownMessage):
        yield f"{_kind(line)}: type"
    else:
        yield from (f"{_kind(line)}: field {name}" for name in view.extra)


# The page


def report_page(reports: list[VersionReport]) -> str:
    """The reports as a Markdown page."""
    return "\n".join(_lines(reports)) + "\n"


def _lines(reports: list[VersionReport]) -> Iterable[str]:
    versions = [report.version for report in reports]
    yield "# Versions of the CLI\n"
    yield f"`handrail conform --versions {len(reports)}` wrote this page: {len(reports[0].outcomes)} checks and one"
    yield f"session with each of {', '.join(versions)}.\n"
    yield "| version | checks that agree | drifted |\n|---|---|---|"
    for report in reports:
        names = ", ".join(f"`{outcome.name}`" for outcome in report.drifted) or "none"
        yield f"| {report.version} | {len(report.outcomes) - len(report.drifted)} | {names} |"
    yield "\n## What appeared and what vanished\n"
    yield "| from | to | appeared | vanished |\n|---|---|---|---|"
    for older, newer in pairwise(reports):
        before, after = set(older.facts), set(newer.facts)
        yield f"| {older.version} | {newer.version} | {_cell(after - before)} | {_cell(before - after)} |"
    yield "\n## Unknown to Handrail so far\n"
    yield "Types and fields of messages; they are passed on unchanged.\n"
    yield "| version | unknown |\n|---|---|"
    for report in reports:
        yield f"| {report.version} | {_cell(set(report.unknown))} |"


def _cell(facts: set[str]) -> str:
    return "<br>".join(f"`{fact}`" for fact in sorted(facts)) or "nothing"
