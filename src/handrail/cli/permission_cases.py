"""Decides permission cases given as lines of JSON: a tool, its input, rules and a mode.

    {"id": "1", "cmd": "git status", "allow": ["Bash(git:*)"], "ask": [], "mode": "default", "expect": "allow"}
    {"id": "2", "tool": "Read", "path": ".env", "deny": ["Read(.env)"], "expect": "deny"}

Only the rules of the row count, not those of the machine. `input` is a tool's whole input, instead of `cmd` or `path`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from handrail.errors import CallerError
from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.decide import Circumstances, Decision, decide
from handrail.permissions.modes import MODES
from handrail.permissions.rules.rule import Behavior, SourcedRule, read_rules

__all__ = ["BadRow", "Case", "Verdict", "decide_case", "input_of", "place_of_rule", "read_cases"]

T = TypeVar("T")
LONGEST_LINE: Final = 4 * 1024 * 1024
MAIN_FIELDS = {
    "Bash": "command",
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "Glob": "path",
    "Grep": "path",
    "LS": "path",
    "WebFetch": "url",
    "WebSearch": "query",
    "Skill": "skill",
    "Task": "subagent_type",
    "Agent": "subagent_type",
}
"""The main field of a tool's input, which an input given as plain text becomes."""


class Case(msgspec.Struct, frozen=True):
    """One row, as it is written."""

    id: str | int = ""
    cmd: str | None = None
    tool: str = ""
    path: str | None = None
    input: dict[str, Any] | None = None
    allow: list[str] = []
    deny: list[str] = []
    ask: list[str] = []
    mode: str = "default"
    expect: str | None = None
    cwd: str | None = None
    can_prompt: bool = True


class BadRow(CallerError):
    """A line is not a valid case; the text says why."""


class Verdict(msgspec.Struct, frozen=True):
    """The decision of one case, with the deciding rule and its source."""

    id: str | int
    decision: str
    rule: str | None
    source: str


def input_of(tool: str, text: str) -> dict[str, Any]:
    """A tool's input from one text: a JSON object as it is, anything else as the field the tool is about."""
    if text.lstrip().startswith("{"):
        try:
            return _read(text.encode("utf-8", "surrogatepass"), dict[str, Any])
        except BadRow:
            if tool != "Bash":  # a command may begin with a brace
                raise BadRow(f"the input of {tool} begins like JSON but is not valid") from None
    if tool not in MAIN_FIELDS:
        raise BadRow(f"give the input of {tool} as a JSON object")
    return {MAIN_FIELDS[tool]: text}


def read_cases(stream: BinaryIO) -> Iterator[tuple[int, Case | BadRow]]:
    """Each line that is not empty, with its number."""
    for number, line in enumerate(_bounded(stream), 1):
        if isinstance(line, bytes) and not line.strip():
            continue
        try:
            if isinstance(line, BadRow):
                raise line
            if len(line) > LONGEST_LINE:
                raise BadRow(f"the line is longer than {LONGEST_LINE // 2**20} MiB")
            yield number, _read(line, Case)
        except BadRow as error:
            yield number, error


def _bounded(stream: BinaryIO) -> Iterator[bytes | BadRow]:
    """Lines, each whole or, where it is too long, its beginning: the rest of it is passed by."""
    try:
        while line := stream.readline(LONGEST_LINE + 1):
            rest = line
            while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
                rest = stream.readline(LONGEST_LINE + 1)
            yield line
    except OSError as error:
        yield BadRow(f"cannot be read: {error.strerror}")


def _read(data: bytes, kind: type[T]) -> T:
    """JSON of a kind. Text cut in the middle of a surrogate pair is legal JSON, and a case worth deciding."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        with contextlib.suppress(ValueError, RecursionError):
            return msgspec.convert(json.loads(data), kind)
        raise BadRow(str(error)) from None


def decide_case(case: Case, cwd: str, source: str, line: int) -> tuple[Verdict, Decision]:
    """Decide one row. `cwd` is its working folder unless it names one; `source` and `line` are its position."""
    tool, given = _asked(case)
    if case.mode not in MODES:
        raise BadRow(f"{case.mode[:60]!r} is not a mode; it must be one of {', '.join(sorted(MODES))}")
    if "\x00" in (case.cwd or ""):
        raise BadRow("`cwd` contains a NUL character")
    anchors = anchors_of(os.path.abspath(os.path.join(cwd, case.cwd or "")))
    rules = tuple(rule for behavior, texts in _texts(case).items() for rule in _rules(texts, behavior, source, line))
    circumstances = Circumstances(
        mode=case.mode,
        rules=rules,
        anchors=anchors,
        bypass_available=case.mode == "bypassPermissions",
        can_prompt=case.can_prompt,
    )
    decision = decide(tool, given, circumstances, Disk(anchors))
    return verdict_of(decision, case.id or line), decision


def _asked(case: Case) -> tuple[str, Mapping[str, Any]]:
    if case.input is not None and case.tool:
        return case.tool, case.input
    if case.cmd is not None:
        return "Bash", {"command": case.cmd}
    if case.path is not None and case.tool in MAIN_FIELDS:
        return case.tool, {MAIN_FIELDS[case.tool]: case.path}
    raise BadRow("a row needs `cmd`, or `tool` with `path`, or `tool` with `input`")


def _texts(case: Case) -> dict[Behavior, list[str]]:
    return {"deny": case.deny, "ask": case.ask, "allow": case.allow}


def _rules(texts: list[str], behavior: Behavior, source: str, line: int) -> list[SourcedRule]:
    return read_rules(texts, behavior, "cliArg", source, [line] * len(texts))


def verdict_of(decision: Decision, name: str | int) -> Verdict:
    """A decision in one row. Where no rule decided, the source says what did: the mode, a safety check …"""
    rule = decision.rule
    if rule is None:
        return Verdict(name, decision.behavior, None, decision.reason_type)
    return Verdict(name, decision.behavior, str(rule.rule), place_of_rule(rule))


def place_of_rule(rule: SourcedRule) -> str:
    """File and line of a rule, or its scope if it was not read from a file."""
    return f"{rule.source}:{rule.line}" if rule.source and rule.line else rule.source or rule.scope
