"""Every feature that only some systems have can be taken away, and its fallback works."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.platform import FEATURES, WITHOUT, libc
from tests.transport.lifeline import HOLD, Lifeline

HERE = Path(__file__).parent
ROOT = HERE.parent


def run(program: str, *arguments: str, without: str, cwd: Path | None = None) -> Any:
    """Run a program in a process without these features. Returns what it prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, WITHOUT: without},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_c_library_is_loaded_once():
    assert libc() is libc()
    assert libc().getpid() > 0


def test_an_unknown_feature_is_refused():
    program = "from handrail.platform import has; has('proc')"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, WITHOUT: "oepnat2"}, capture_output=True, text=True
    )
    assert "HANDRAIL_WITHOUT: unknown feature 'oepnat2'; known: linux, posix, parent_death" in done.stderr


def test_linux_and_posix_name_groups_of_features():
    program = """
import json
from handrail.platform import FEATURES, has
print(json.dumps([name for name in FEATURES if has(name)]))
"""
    assert run(program, without="posix") == []
    assert run(program, without="linux") == [name for name, (system, _) in FEATURES.items() if system == "posix"]
    assert run(program, without="proc,openat2") == [name for name in FEATURES if name not in ("proc", "openat2")]


def test_the_guide_lists_every_feature_with_its_fallback():
    systems = {"linux": "Linux", "posix": "Linux, macOS"}
    rows = [f"| `{name}` | {systems[system]} | {fallback} |" for name, (system, fallback) in FEATURES.items()]
    page = (ROOT / "docs/guides/platforms.md").read_text().splitlines()
    assert [line for line in page if line.startswith("| `") and line.count("|") == 4 and line in rows] == rows


def test_files_are_opened_name_by_name_without_openat2(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "file").write_text("text")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "inside" / "link").symlink_to("../secret")
    program = """
import json, sys
from handrail.files.errors import FileError
from handrail.files.kinds import is_process_information
from handrail.files.open import Root
from handrail.files.openat2 import opener
found = [opener().__name__, is_process_information("/proc/self/stat")]
with Root(sys.argv[1]) as root:
    found.append(root.read("file", limit=100).decode())
    try:
        root.read("link", limit=100)
    except FileError as error:
        found.append(type(error).__name__)
print(json.dumps(found))
"""
    found = run(program, str(tmp_path / "inside"), without="linux")
    assert found == ["walk_beneath", True, "text", "OutsideRoot"]


def test_the_server_and_the_cage_do_without_linux():
    program = """
import json
from handrail.bridge.process_memory import keep_memory_private, release_large_blocks
from handrail.bridge.store.clock import earliest_now, latest_now
from handrail.cage.guards import find_guard, guard_problem
print(json.dumps([keep_memory_private(), release_large_blocks(), earliest_now() <= latest_now(),
                  find_guard(), guard_problem()]))
"""
    problem = "the kernel has no Landlock; ABI 3 (Linux 6.2) is needed"
    assert run(program, without="linux") == [False, False, True, None, problem]


PARENT = """
import asyncio, sys
from handrail.transport.process import ProcessTransport
async def main():
    child = ProcessTransport(sys.argv[1:])
    assert "setpriv" not in child._command()[0]
    await child.start()
    await child.receive()
    print("started", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
CHILD = (
    HOLD
    + """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
hold(sys.argv[1])
subprocess.Popen([sys.executable, "-I", "-S", "-c", sys.argv[2], sys.argv[1]])
print("ready", flush=True)
signal.pause()
"""
)
GRANDCHILD = HOLD + "import signal\nhold(sys.argv[1])\nsignal.pause()"


async def test_the_guardian_ends_a_process_group_without_linux(tmp_path: Path):
    async with Lifeline(tmp_path / "line") as line, asyncio.timeout(60):
        parent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PARENT, sys.executable, "-I", "-S", "-c", CHILD, line.path, GRANDCHILD),
            env={**os.environ, WITHOUT: "linux"},
            stdout=asyncio.subprocess.PIPE,
        )
        assert parent.stdout
        assert await parent.stdout.readline() == b"started\n"
        await line.held_by(2)
        parent.kill()
        await line.let_go()
        assert await parent.wait() == -signal.SIGKILL


async def test_closing_ends_a_process_group_without_linux(tmp_path: Path):
    program = PARENT.replace("await asyncio.Event().wait()", "print((await child.close()).signal)").replace(
        "argv[1:])", "argv[1:], eof_grace=0.1, term_grace=0.1)"
    )
    async with Lifeline(tmp_path / "line") as line, asyncio.timeout(60):
        parent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, sys.executable, "-I", "-S", "-c", CHILD, line.path, GRANDCHILD),
            env={**os.environ, WITHOUT: "linux"},
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await parent.communicate()
        assert printed.split() == [b"started", b"SIGKILL"]
        await line.held_by(2)
        await line.let_go()


@pytest.mark.parametrize("without", ["", "linux", "pidfd", "subreaper"])
def test_a_command_of_the_agent_is_ended_with_its_descendants(without: str, tmp_path: Path):
    """A command that times out, whose child stays in its process group."""
    program = """
import asyncio, json, sys
from handrail.agent.tools.process_tree import guard, marks, new_mark, terminate_tree
async def main():
    mark = new_mark()
    guard()
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", "sleep 1000 & echo $!; wait", env=marks(mark), stdout=asyncio.subprocess.PIPE,
        start_new_session=True)
    sleeper = int(await process.stdout.readline())
    ended = asyncio.Event()
    waiting = asyncio.create_task(process.wait())
    waiting.add_done_callback(lambda _: ended.set())
    await terminate_tree(process.pid, mark, ended)
    print(json.dumps([await waiting, await process.stdout.read() == b""]))
asyncio.run(main())
"""
    assert run(program, without=without) == [-signal.SIGTERM, True]


WINDOWS = """
import asyncio, json, os, sys
import handrail
from handrail import claude_agent_sdk
from handrail.claude_agent_sdk import ClaudeAgentOptions
cli, agent, script, folder = sys.argv[1:]
found = {}

async def main():
    options = handrail.Options(cli_path=cli, cwd=folder, eof_grace=30)
    async with handrail.Session(options) as session:
        found["answer"] = (await session.ask("Hi")).text
        turn = await session.send("wait")
        async for message in turn:
            if message.type == "assistant":
                await session.interrupt()
        found["interrupted"] = turn.result.reason
    found["end"] = [session.ending.code, session.ending.signal]
    stubborn = handrail.Session(options.replace(env={"STUBBORN": "1"}, eof_grace=0.1))
    await stubborn.start()
    found["stubborn"] = (await stubborn.close()).describe()
    scripted = handrail.Options(cli_path=agent, cwd=folder, env={"HANDRAIL_SCRIPT": script})
    async with handrail.Session(scripted) as session:
        found["agent"] = (await session.ask("Hi")).text
    shim = ClaudeAgentOptions(cli_path=agent, cwd=folder, env={**scripted.env, "HANDRAIL_WITHOUT": ""})
    found["shim"] = [message.result async for message in claude_agent_sdk.query(prompt="Hi", options=shim)
                     if isinstance(message, claude_agent_sdk.ResultMessage)]
    try:
        await handrail.Session(options.replace(user="nobody")).start()
    except handrail.HandrailError as error:
        found["user"] = str(error).splitlines()[0]
    try:
        await handrail.Session(options.replace(cli_path=os.path.join(folder, "claude.cmd"))).start()
    except handrail.HandrailError as error:
        found["batch"] = str(error).splitlines()[0]

asyncio.run(main())
with handrail.blocking.Session(handrail.Options(cli_path=cli, cwd=folder)) as session:
    found["blocking"] = session.send("Hi").wait().text
listed = handrail.list_sessions()[0]
found["read"] = [entry.type for entry in handrail.read_session(listed.id).messages]
handrail.rename_session(listed.id, "A title")
found["title"] = handrail.list_sessions()[0].title
try:
    handrail.delete_session(listed.id)
except handrail.HandrailError as error:
    found["delete"] = str(error)
found["agent parts"] = [name for name in ("settings.write", "settings.git_branch", "transport.stdio", "files.open")
                        if f"handrail.{name}" in sys.modules]
print(json.dumps(found))
"""
CLI = """#!{python}
import asyncio, os, signal
from handrail.testing.scripted_cli import ScriptedCli, hold
from handrail.transport.stdio import StdioTransport
asyncio.run(ScriptedCli([["Hello"], ["working", hold("for ever")]]).serve(StdioTransport()))
while os.environ.get("STUBBORN"):
    signal.pause()
"""


def on_windows(program: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, HERE / "windows_stand_in.py", program, *arguments],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_sdk_drives_a_cli_on_windows(tmp_path: Path, own_home: Path):
    cli, folder, script = tmp_path / "cli", tmp_path / "work", tmp_path / "script.json"
    folder.mkdir()
    cli.write_text(CLI.format(python=sys.executable))
    script.write_text(json.dumps({"replies": [{"blocks": [{"type": "text", "text": "Hello from the agent"}]}]}))
    (folder / "claude.cmd").write_text("@echo off\n")
    cli.chmod(0o700)
    (folder / "claude.cmd").chmod(0o700)
    agent = Path(sys.executable).with_name("handrail-agent")
    done = on_windows(WINDOWS, str(cli), str(agent), str(script), str(folder), home=own_home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {
        "answer": "Hello",
        "interrupted": "aborted_streaming",
        "end": [0, None],
        "stubborn": "killed by SIGKILL",
        "agent": "Hello from the agent",
        "shim": ["Hello from the agent"],
        "user": "the CLI could not be started: running a child as another user is not supported on Windows; use WSL 2"
        " for it",
        "batch": f"the CLI could not be started: {folder}/claude.cmd: a batch file would run parts of its arguments as"
        " commands; name the .exe of the CLI",
        "blocking": "Hello",
        "read": ["user", "assistant"],
        "title": "A title",
        "delete": found["delete"],
        "agent parts": [],
    }
    assert "archiving, forking or deleting a session is not supported on Windows; use WSL 2 for it" in found["delete"]


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("import sys; from handrail.cli import main; sys.exit(main(['serve']))", "`handrail serve`"),
        ("from handrail.agent.main import run; run()", "handrail-agent"),
        ("from handrail.acp.agents import run; run()", "handrail-acp"),
    ],
    ids=["server", "agent", "acp"],
)
def test_a_program_that_needs_posix_says_so_on_windows(program: str, name: str, own_home: Path):
    done = on_windows(program, home=own_home)
    assert (done.returncode, done.stderr) == (2, f"error: {name} is not supported on Windows; use WSL 2 for it\n")
