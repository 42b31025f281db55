"""The official Python SDK's own examples, with the real CLI and with our agent. In: both executables. Out: a table.

    python tests/interop/sdk_examples.py --python .bench/bin/python --claude .interop/node_modules/.bin/claude

The source distribution is downloaded when this runs; its sources, which have no CLI in them, are what the examples
import, so they take the `claude` that stands first on PATH. The model is one script on loopback for both. It ends with
1 when an example that ends well with the real CLI does not with ours.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from handrail.testing import Lab, Reply, Script, ScriptedMessagesApi, When, reply, text, tool_use

BIN = Path(sys.executable).parent
VERSION = "0.2.182"
LIMIT = 240.0
ARGUMENTS = {"hooks": ["all"], "setting_sources": ["all"], "streaming_mode": ["all"]}
"""Examples that show a menu without one."""
NEEDS = ("trio",)
"""What an example imports and the SDK does not."""


def calls(prompt: str, tool: str, /, **tool_input: object) -> Reply:
    """The call with which the model begins to answer a prompt."""
    return reply(tool_use(tool, **tool_input), when=When(prompt=prompt, tools=True, offers=tool))


def agent(prompt: str, name: str) -> Reply:
    return calls(prompt, "Agent|Task", description="Work", prompt="Do the work.", subagent_type=name)


def sum_of(prompt: str, tool: str, **numbers: float) -> Reply:
    return calls(prompt, f"mcp__calc__{tool}", **numbers)


SCRIPT = Script.of(
    reply(text("The work is done."), when=When(prompt="Do the work.")),
    agent("Use the code-reviewer agent", "code-reviewer"),
    agent("Use the doc-writer agent", "doc-writer"),
    agent("Use the analyzer agent", "analyzer"),
    calls("Create a file called hello.txt", "Write", file_path="hello.txt", content="Hello, World!"),
    calls("Create a simple hello.txt", "Write", file_path="hello.txt", content="Hello!"),
    calls("./foo.sh --help", "Bash", command="./foo.sh --help"),
    calls("Hello from hooks example!", "Bash", command="echo 'Hello from hooks example!'"),
    calls("ls /nonexistent_directory", "Bash", command="ls /nonexistent_directory"),
    calls("called important_config.txt", "Write", file_path="important_config.txt", content="test data"),
    calls("called regular_file.txt", "Write", file_path="regular_file.txt", content="test data"),
    calls("CRITICAL ERROR", "Bash", command="echo 'CRITICAL ERROR: system failure'"),
    calls("Hello from bash!", "Bash", command="echo 'Hello from bash!'"),
    calls("Read the README.md", "Read", file_path="README.md"),
    sum_of("Calculate 15 + 27", "add", a=15, b=27),
    sum_of("What is 100 divided by 7", "divide", a=100, b=7),
    sum_of("square root of 144", "sqrt", n=144),
    sum_of("2 raised to the power of 8", "power", base=2, exponent=8),
    sum_of("Calculate (12 + 8)", "add", a=12, b=8),
    calls("List the files in the current directory", "Bash", command="ls"),
    afterwards=reply(text("That is how it is."), delay=0.02),
)


@dataclass
class Outcome:
    """How an example ended."""

    code: int
    seconds: float
    lines: list[str]
    complaint: str

    @property
    def well(self) -> bool:
        return self.code == 0 and "Traceback" not in self.complaint


def fetch(folder: Path) -> Path:
    """The unpacked source distribution."""
    pip = [str(BIN / "uv"), "tool", "run", "--quiet", "--from", "pip", "pip"]
    wanted = ["--quiet", "--no-deps", "--no-binary", ":all:", f"claude-agent-sdk=={VERSION}", "--dest", str(folder)]
    subprocess.run([*pip, "download", *wanted], check=True, stderr=subprocess.DEVNULL)
    with tarfile.open(folder / f"claude_agent_sdk-{VERSION}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"claude_agent_sdk-{VERSION}"


def install_needs(folder: Path, python: Path) -> Path:
    """What the examples need besides, in a folder of its own."""
    wanted = ["--quiet", "--python", str(python), "--target", str(folder), *NEEDS]
    subprocess.run([str(BIN / "uv"), "pip", "install", *wanted], check=True)
    return folder


async def run(example: Path, executable: Path, python: Path, needs: Path) -> Outcome:
    """One example with one executable, in a copy of the distribution, with a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        source = shutil.copytree(example.parents[1], lab.project / "sdk")
        path = lab.root / "bin"
        path.mkdir()
        (path / "claude").symlink_to(executable)
        async with ScriptedMessagesApi() as api:
            environment = lab.environment(api.session(SCRIPT), PYTHONPATH=f"{source / 'src'}{os.pathsep}{needs}")
            environment |= {"PATH": f"{path}{os.pathsep}{environment['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
            command = [str(python), str(source / "examples" / example.name), *ARGUMENTS.get(example.stem, [])]
            return await ended(command, environment, source)


async def ended(command: list[str], environment: dict[str, str], folder: Path) -> Outcome:
    """Runs an example to its end, or to the limit."""
    began = time.monotonic()
    child = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LIMIT):
            output, complaint = await child.communicate()
    except TimeoutError:
        child.kill()
        output, complaint = await child.communicate()
    lines = output.decode(errors="replace").splitlines()
    return Outcome(child.returncode or 0, time.monotonic() - began, lines, complaint.decode(errors="replace"))


def row(name: str, real: Outcome, ours: Outcome) -> str:
    def ending(outcome: Outcome) -> str:
        how = "well" if outcome.well else f"exit {outcome.code}"
        return f"{how:8} {outcome.seconds:5.1f} s {len(outcome.lines):4d} lines"

    return f"{name:26} {ending(real):28} {ending(ours):28}"


async def compare(given: argparse.Namespace) -> int:
    """Runs all examples with both. Out: how many end well with the real CLI only."""
    worse = 0
    with tempfile.TemporaryDirectory() as folder:
        source = given.source or fetch(Path(folder))
        needs = install_needs(Path(folder) / "needs", given.python)
        print(f"{'example':26} {'real CLI':28} {'handrail-agent':28}", flush=True)
        for example in sorted((source / "examples").glob("*.py")):
            if given.only and example.stem not in given.only:
                continue
            real = await run(example, given.claude, given.python, needs)
            ours = await run(example, BIN / "handrail-agent", given.python, needs)
            print(row(example.stem, real, ours), flush=True)
            if given.keep:
                for name, outcome in (("real", real), ("ours", ours)):
                    said = "\n".join([*outcome.lines, "--- stderr", outcome.complaint])
                    (given.keep / f"{example.stem}.{name}.txt").write_text(said)
            if real.well and not ours.well:
                worse += 1
                print(ours.complaint[-2000:], flush=True)
    return worse


def main() -> int:
    parser = argparse.ArgumentParser(description="The official SDK's examples with the real CLI and with ours.")
    parser.add_argument("--python", type=lambda name: Path(name).absolute(), required=True, help="has the SDK's needs")
    parser.add_argument("--claude", type=lambda name: Path(name).absolute(), required=True, help="the real CLI")
    parser.add_argument("--source", type=Path, help="an unpacked source distribution, instead of a download")
    parser.add_argument("--keep", type=Path, help="a folder for what every example printed")
    parser.add_argument("only", nargs="*", help="the names of some examples")
    return min(asyncio.run(compare(parser.parse_args())), 1)


if __name__ == "__main__":
    sys.exit(main())
