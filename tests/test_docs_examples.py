"""The examples of README.md and docs/: Python blocks run, command lines use known commands and options, JSON parses.

Command lines are checked in blocks of every kind and in code within a sentence.
"""

from __future__ import annotations

import importlib
import json
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
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
LANGUAGES = {"", "caddyfile", "console", "ini", "json", "lua", "nginx", "python", "sh", "yaml"}
"""Of blocks. Those of service.md, proxy.md and editors.md that are neither Python, JSON nor shell have other tests."""
INLINE = re.compile(r"`(handrail [^`]+)`")
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
    """The words after `handrail` of each command line on a page."""
    text = page.read_text()
    lines = [line for block in BLOCK.finditer(text) for line in shell_lines(block["language"], block["text"])]
    lines += INLINE.findall(BLOCK.sub("", text).replace("\n", " "))
    for line in lines:
        words = shlex.split(line.replace("'", "") if line.count("'") % 2 else line, comments=True)
        if "handrail" in words[:3] and words[0] not in ("docker", "pip", "pipx", "systemctl"):
            yield words[words.index("handrail") + 1 :]


def shell_lines(language: str, block: str) -> list[str]:
    """The command lines of a block: all of a script, those after a prompt in the output of a terminal."""
    lines = block.replace("\\\n", " ").splitlines()
    if language in ("", "console"):
        return [line for line in lines if re.match(r" *(\$ )?(uvx )?handrail ", line)]
    return lines if language == "sh" else []


def unknown_words(words: list[str]) -> list[str]:
    """The subcommands and options of a command line that do not exist."""
    name, *rest = words
    if name.rstrip(",") not in COMMANDS:
        return [] if re.match(r"--?(version|help)|[A-Z]+", name) else [name]
    command = get_command(importlib.import_module(f"handrail.cli.{name.rstrip(',')}").app)
    parts = getattr(command, "commands", {})
    if parts and rest and not rest[0].startswith("-"):
        if wrong := [one for one in rest[0].split("|") if one not in parts]:  # a sentence may name several at once
            return wrong
        command, rest = parts[rest[0].split("|")[0]], rest[1:]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    own = rest[: next((place for place, word in enumerate(rest) if word in END), len(rest))]
    return [word for word in own if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in options]


def test_command_lines_have_known_commands_and_options():
    found = [(page, words) for page in pages() for words in command_lines(page)]
    assert len(found) > 200
    assert [(name_of(page), words) for page, words in found if unknown_words(words)] == []


def test_blocks_have_a_language_that_is_checked_and_json_parses():
    found = [(name_of(page), block) for page in pages() for block in BLOCK.finditer(page.read_text())]
    assert {(page, block["language"]) for page, block in found if block["language"] not in LANGUAGES} == set()
    documents = [block["text"].replace("…", "") for _, block in found if block["language"] == "json"]
    for text in documents:
        for document in text.splitlines() if text.count("\n{") else [text]:
            json.loads(document)
