"""The official Python SDK's own examples, with that SDK and with `handrail.claude_agent_sdk`, each with two CLIs.

    python tests/interop/sdk_examples.py --python .bench/bin/python --claude .interop/node_modules/.bin/claude

The source distribution is downloaded. With the official SDK the examples import its sources, which contain no CLI, so
they use the `claude` that is first on PATH. With the shim their imports are changed by `handrail migrate`, and nothing
else; the official SDK is then not importable. The model is one script on loopback for all. The exit code is 1 if an
example that ends well with the official SDK and the real CLI does not end well otherwise, or if it ends with another
code or prints other lines with the shim.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import re
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
"""Packages that only the examples import."""


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

    def ends_as(self, other: Outcome) -> bool:
        """Whether both ended with the same code and printed the same, apart from ids, numbers and folders."""
        return (self.code, self.normal_lines) == (other.code, other.normal_lines)

    @property
    def normal_lines(self) -> list[str]:
        # Sorted: of concurrent tasks, either may print first, and a line may be that of a set.
        lines = (_VARYING.sub("_", _UUIDS.sub("", line)) for line in self.lines)
        return sorted(" ".join(sorted(re.findall(r"[^\s,]+", line))) for line in lines)


_UUIDS = re.compile(r", 'user_message_uuids'(?:: \[[^]]*\])?")
"""The shim gives every prompt a uuid, which the CLI repeats."""
_VARYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\b(?:toolu|msg|req)_\w+|/[\w./-]*/project/sdk|\d+(?:\.\d+)?|\bhandrail\.(?=claude_agent_sdk)"
    r"|[/-]tmp[/-]tmp[\w-]{8}"
)


def fetch(folder: Path) -> Path:
    """The unpacked source distribution."""
    pip = [str(BIN / "uv"), "tool", "run", "--quiet", "--from", "pip", "pip"]
    wanted = ["--quiet", "--no-deps", "--no-binary", ":all:", f"claude-agent-sdk=={VERSION}", "--dest", str(folder)]
    subprocess.run([*pip, "download", *wanted], check=True, stderr=subprocess.DEVNULL)
    with tarfile.open(folder / f"claude_agent_sdk-{VERSION}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"claude_agent_sdk-{VERSION}"


def install_needs(folder: Path, python: Path) -> Path:
    """A folder with the packages that only the examples import."""
    wanted = ["--quiet", "--python", str(python), "--target", str(folder), *NEEDS]
    subprocess.run([str(BIN / "uv"), "pip", "install", *wanted], check=True)
    return folder


def migrated(source: Path, folder: Path) -> Path:
    """A copy of the distribution with changed imports, and without the SDK itself."""
    copy = shutil.copytree(source, folder)
    change = [str(BIN / "handrail"), "migrate", str(copy / "examples"), "--write"]
    subprocess.run(change, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(copy / "src")
    return copy


async def run(example: Path, executable: Path, python: Path, needs: Path) -> Outcome:
    """One example with one executable, in a copy of the distribution, with a new home."""
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


def row(name: str, *outcomes: Outcome) -> str:
    def ending(outcome: Outcome) -> str:
        how = "well" if outcome.well else f"exit {outcome.code}"
        return f"{how:8} {outcome.seconds:5.1f} s {len(outcome.lines):4d} lines"

    return " ".join([f"{name:26}", *(f"{ending(outcome):28}" for outcome in outcomes)])


async def compare(given: argparse.Namespace) -> int:
    """Run all examples in all four ways. Returns how many end worse, or otherwise with the shim."""
    worse = 0
    clis = {"real CLI": given.claude, "our agent": BIN / "handrail-agent"}
    with tempfile.TemporaryDirectory() as folder:
        source = given.source or fetch(Path(folder))
        copy = migrated(source, Path(folder) / "migrated")
        needs = install_needs(Path(folder) / "needs", given.python)
        heads = [f"{sdk}, {cli}" for sdk in ("official SDK", "shim") for cli in clis]
        print(" ".join([f"{'example':26}", *(f"{head:28}" for head in heads)]), flush=True)
        for example in sorted((source / "examples").glob("*.py")):
            if given.only and example.stem not in given.only:
                continue
            changed = copy / "examples" / example.name
            official = [await run(example, cli, given.python, needs) for cli in clis.values()]
            shim = [await run(changed, cli, BIN / "python", needs) for cli in clis.values()]
            outcomes = dict(zip(heads, (*official, *shim), strict=True))
            print(row(example.stem, *outcomes.values()), flush=True)
            if given.keep:
                for head, outcome in outcomes.items():
                    said = "\n".join([*outcome.lines, "--- stderr", outcome.complaint])
                    (given.keep / f"{example.stem}, {head}.txt").write_text(said)
            complaints = [
                *(one.complaint[-2000:] for one in outcomes.values() if official[0].well and not one.well),
                *(difference(*pair) for pair in zip(official, shim, strict=True) if not pair[1].ends_as(pair[0])),
            ]
            worse += bool(complaints)
            print("".join(complaints), end="", flush=True)
    return worse


def difference(before: Outcome, after: Outcome) -> str:
    """The lines that only one of two outcomes has."""
    lines = difflib.unified_diff(before.normal_lines, after.normal_lines, "official SDK", "shim", lineterm="", n=0)
    return "\n".join([f"exit codes {before.code} and {after.code}", *lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description="The official SDK's examples, with it and with the shim.")
    parser.add_argument("--python", type=lambda name: Path(name).absolute(), required=True, help="has the SDK's needs")
    parser.add_argument("--claude", type=lambda name: Path(name).absolute(), required=True, help="the real CLI")
    parser.add_argument("--source", type=Path, help="an unpacked source distribution, instead of a download")
    parser.add_argument("--keep", type=Path, help="a folder for what every example printed")
    parser.add_argument("only", nargs="*", help="the names of some examples")
    return min(asyncio.run(compare(parser.parse_args())), 1)


if __name__ == "__main__":
    sys.exit(main())
