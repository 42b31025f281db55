"""Writes docs/requests.md: what handrail-agent and the CLI send to the Messages API for the same prompts.

Only sizes and counts are compared; no text of either ends up in the page.

    python -m tools.compare_requests --cli .interop/node_modules/.bin/claude
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from handrail import Options, Session
from handrail.conform.messages_api import ReceivedRequest
from handrail.conform.request_facts import keeps_prefix, request_facts
from handrail.testing import Lab, Script, ScriptedMessagesApi, text, tool_use

PAGE = Path(__file__).parents[1] / "docs" / "requests.md"
AGENT = Path(sys.executable).with_name("handrail-agent")
LIMIT = 60.0
HEAD = """\
# Requests to the model

Written by `make requests-page`. Both programs get the same prompts in the same folders, with a scripted model behind a
loopback address. Sizes are bytes of JSON in the last request of the session. *Reminders* are texts that the program
adds to the conversation; *prefix kept* says whether each request begins with all of the one before, so that the API
finds it in its cache; *marks* are the cache breakpoints in system prompt, tools and messages. Each session has two
requests or more.

| prompts | program | system | tools | reminders | messages | marks | prefix kept | thinking, effort |
|---|---|--:|--:|--:|--:|---|---|---|
"""
TOOLS = """
## Tools

Bytes of JSON of each definition in the first session above. The CLI has more tools that its model asks for by name.

| tool | Handrail | the CLI |
|---|--:|--:|
"""
RENAMED = {"Agent": "Task"}


class Case(Struct, frozen=True):
    """One scenario: files in the folder, replies of the model, prompts of the user."""

    name: str
    replies: list[Any]
    prompts: tuple[str, ...] = ("Say hello.", "Say it in French.")
    prepare: Callable[[Path], Any] = lambda folder: None
    options: dict[str, Any] = {}


def _git(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    for words in ("init -q -b main .", "add .", "-c user.email=a@b -c user.name=n commit -q -m First"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)  # noqa: S607
    (folder / "b.txt").write_text("two\n")


def _memory(folder: Path) -> None:
    (folder / "CLAUDE.md").write_text("Use tabs.\n" * 50)
    (folder / "a.txt").write_text("one\n")


def _file(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")


def _part(folder: Path) -> None:
    (folder / "part").mkdir()
    (folder / "part" / "CLAUDE.md").write_text("Use tabs here.\n")
    (folder / "part" / "a.txt").write_text("one\n")


READ = tool_use("Read", file_path="a.txt")
LS = tool_use("Bash", command="ls")
HELLO = [text("Hello."), text("Bonjour.")]
CASES = (
    Case("two questions", HELLO),
    Case("memory file", HELLO, prepare=_memory),
    Case("notes of a subfolder", [tool_use("Read", file_path="part/a.txt"), text("Done.")], ("Read it.",), _part),
    Case("git repository", HELLO, prepare=_git),
    Case("read a file", [READ, text("Done.")], ("Read it.",), _file),
    Case("two calls at once", [[READ, LS], text("Done.")], ("Read and list it.",), _file),
    Case("command, then a question", [LS, text("Done."), text("Yes.")], ("List it.", "Is that all?"), prepare=_file),
    Case("file mentioned twice", HELLO, ("See @a.txt", "Is @a.txt short?"), prepare=_file),
    Case("plan mode", HELLO, ("Plan it.", "Shorter."), options={"permission_mode": "plan"}),
    Case("own system prompt", HELLO, options={"system_prompt": "You are a pirate."}),
)


async def _requests(cli: Path, case: Case, folder: Path) -> list[ReceivedRequest]:
    lab = Lab(folder)
    case.prepare(lab.project)
    async with asyncio.timeout(LIMIT), ScriptedMessagesApi() as api:
        endpoint = api.session(Script.of(*case.replies))
        environment = lab.environment(endpoint, ANTHROPIC_API_KEY="loopback")
        given: dict[str, Any] = {"cli_path": cli, "cwd": lab.project, "env": environment, "model": "claude-sonnet-5-5"}
        given |= {"setting_sources": ["user", "project", "local"], "can_use_tool": lambda _: True}
        async with Session(Options(**given | case.options)) as session:
            for prompt in case.prompts:
                await session.ask(prompt)
        return list(endpoint.main_requests)


def _row(case: Case, program: str, requests: list[ReceivedRequest]) -> str:
    facts = request_facts(requests[-1])
    kept = all(keeps_prefix(before.body, after.body) for before, after in pairwise(requests))
    prefix = "yes" if kept else "no"
    marks = " + ".join(map(str, facts.marks))
    return (
        f"| {case.name} | {program} | {facts.system:,} | {facts.tools:,} ({len(facts.tool_names)}) |"
        f" {facts.reminders:,} | {facts.messages:,} | {marks} | {prefix} | {facts.thinking}, {facts.effort} |"
    )


def _tools(request: ReceivedRequest) -> dict[str, int]:
    """The bytes of each tool by its name."""
    return {RENAMED.get(tool["name"], tool["name"]): len(msgspec.json.encode(tool)) for tool in request.body["tools"]}


def _tool_rows(ours: dict[str, int], theirs: dict[str, int]) -> list[str]:
    def shown(size: int | None) -> str:
        return "–" if size is None else f"{size:,}"

    return [f"| {name} | {shown(ours.get(name))} | {shown(theirs.get(name))} |" for name in sorted(ours | theirs)]


async def _page(cli: Path) -> str:
    rows: list[str] = []
    tools: list[dict[str, int]] = []
    for case in CASES:
        for program, path in (("Handrail", AGENT), ("the CLI", cli)):
            with tempfile.TemporaryDirectory(prefix="handrail-requests-") as folder:
                requests = await _requests(path, case, Path(folder))
            rows.append(_row(case, program, requests))
            tools.append(_tools(requests[0]))
    return "\n".join([HEAD + "\n".join(rows), TOOLS + "\n".join(_tool_rows(*tools[:2])), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", type=Path, required=True, help="the CLI to compare with")
    options = parser.parse_args()
    if not options.cli.exists():
        parser.error(f"{options.cli} not found; `make interop` installs it")
    PAGE.write_text(asyncio.run(_page(options.cli.absolute())))


if __name__ == "__main__":
    main()
