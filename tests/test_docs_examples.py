"""The examples of README.md and docs/: Python blocks run, command lines have commands and options that exist."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from handrail.cli.main import COMMANDS
from tests.architecture.repository import PACKAGE, ROOT, name_of, pages
from tests.docs_examples import blocks, compiled

WITH_PYTHON = [page for page in pages() if blocks(page)]
SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
END = {"--", "|", ">", "&&", ";"}


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_examples_run(page: Path, tmp_path: Path, own_home: Path):
    """With the embedded agent in Demo mode as the CLI, and with an ACP agent and a recording that some examples use."""
    for number, block in enumerate(blocks(page)):
        compiled(block, f"{page.name}[{number}]")
    (own_home / "project").mkdir()
    shutil.copy(PACKAGE / "cli" / "tour.ndjson", tmp_path / "huge.ndjson")
    gemini = tmp_path / "bin" / "gemini"
    gemini.parent.mkdir()
    gemini.write_text(f"#!/bin/sh\nexec {sys.executable} -m handrail.testing.scripted_acp_agent {tmp_path}/acp.json\n")
    gemini.chmod(0o755)
    (tmp_path / "acp.json").write_text("{}")
    copy = tmp_path / page.name
    copy.write_text(page.read_text().replace("/work/app", str(tmp_path)))
    programs = Path(sys.executable).parent
    environment = {
        "HANDRAIL_CLI": str(programs / "handrail-agent"),
        "PATH": f"{gemini.parent}:{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs_examples", str(copy)],
        cwd=tmp_path,
        env={**os.environ, **environment},
        input="y\n" * 10,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert (done.returncode, "\nran " in done.stdout) == (0, True), done.stdout + done.stderr


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words after `handrail` on each line of the shell examples of a page."""
    for block in SHELL.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if "handrail" in words[:3] and words[0] not in ("docker", "pip", "pipx", "systemctl"):
                yield words[words.index("handrail") + 1 :]


def unknown_words(words: list[str]) -> list[str]:
    """The subcommands and options of a command line that do not exist."""
    name, *rest = words
    if name not in COMMANDS:
        return [name]
    command = get_command(importlib.import_module(f"handrail.cli.{name}").app)
    parts = getattr(command, "commands", {})
    if parts:
        if rest[0] not in parts:
            return rest[:1]
        command, rest = parts[rest[0]], rest[1:]
    options = {option for parameter in command.params for option in parameter.opts}
    own = rest[: next((place for place, word in enumerate(rest) if word in END), len(rest))]
    return [word for word in own if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in options]


def test_command_lines_have_known_commands_and_options():
    found = [(page, words) for page in pages() for words in command_lines(page)]
    assert len(found) > 20
    assert [(name_of(page), words) for page, words in found if unknown_words(words)] == []
