"""The exceptions of the SDK and their messages."""

import re
from typing import Any

import pytest

import handrail
from handrail import (
    CliNotFound,
    ControlError,
    ControlRefused,
    ControlTimeout,
    Disconnected,
    Ending,
    HandrailError,
    HandshakeFailed,
    InboxFull,
    NotSupported,
    OptionsError,
    RewindRefused,
    StartFailed,
    TurnCancelled,
    TurnFailed,
    TurnResult,
    TurnUsage,
)
from handrail.client import errors as module
from handrail.schema.result_message import ResultMessage

ARGV = ["/bin/claude", "--verbose"]
FAILED = TurnResult(
    message=ResultMessage(reported_is_error=True, subtype="success", terminal_reason="api_error", result="Overloaded"),
    used=TurnUsage(),
)

# Errors with the texts that they must contain.
ERRORS: list[tuple[HandrailError, list[str]]] = [
    (OptionsError("model", "5 is not a string"), ["Options.model", "5 is not a string"]),
    (CliNotFound(["PATH (/bin)"]), ["npm install", "cli_path", "PATH (/bin)"]),
    (StartFailed("it ended", ARGV, "last words"), ["it ended", "command: /bin/claude --verbose", "last words"]),
    (StartFailed("it ended", ARGV), ["stderr: empty"]),
    (HandshakeFailed("no answer within 60 s", ARGV, "last words"), ["no answer", "--verbose", "last words"]),
    (Disconnected(Ending(code=3, stderr="last words")), ["exit code 3", "last words"]),
    (Disconnected(Ending(signal="SIGKILL"), "set_model"), ["set_model", "killed by SIGKILL"]),
    (Disconnected(Ending()), ["the other side has ended (ended)"]),
    (ControlRefused("set_model", "must be a string", "invalid_request"), ["set_model", "must be", "invalid_request"]),
    (ControlRefused("set_model", "no"), ["set_model: no"]),
    (RewindRefused("rewind_files", "No such message."), ["rewind_files", "No such message."]),
    (ControlTimeout("get_usage", 60.0), ["get_usage", "60 s", "timeout="]),
    (NotSupported("interrupt"), ["interrupt", "this transport cannot"]),
    (TurnFailed(FAILED), ["api_error", "Overloaded"]),
    (TurnCancelled("u-1"), ["u-1", "cancelled before its turn began"]),
    (InboxFull(100), ["100 bytes", "read faster", "limit=", 'policy="spill"']),
]


@pytest.mark.parametrize(("error", "parts"), ERRORS)
def test_errors_explain_the_problem_and_the_fix(error: HandrailError, parts: list[str]):
    for part in parts:
        assert part in str(error)


def test_errors_have_attributes():
    start = StartFailed("x", ARGV, "words")
    shake = HandshakeFailed("x", ARGV, "words")
    assert (start.argv, start.stderr, shake.argv, shake.stderr) == (ARGV, "words", ARGV, "words")
    gone = Disconnected(Ending(code=3, stderr="words"))
    assert (gone.exit_code, gone.stderr, gone.ending.signal) == (3, "words", None)
    failed = TurnFailed(FAILED)
    assert (failed.reason, failed.result) == ("api_error", FAILED)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(OptionsError, ValueError), (CliNotFound, FileNotFoundError), (ControlTimeout, TimeoutError)],
)
def test_some_errors_are_builtin_errors_too(error: type[Exception], builtin: type[Exception]):
    assert issubclass(error, builtin)


def drawn_tree() -> dict[str, str]:
    """The tree in the module docstring: errors with their parents."""
    parents: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in (module.__doc__ or "").splitlines():
        if (found := re.match(r"^([│├└─ ]*)([A-Z]\w+)(?:\s|$)", line)) is None or " " in line[:1]:
            continue
        depth, name = len(found[1]), found[2]
        above = [(level, parent) for level, parent in above if level < depth]
        if above:
            parents[name] = above[-1][1]
        if above or name == "HandrailError":
            above.append((depth, name))
    return parents


def test_documented_tree_matches_the_classes():
    drawn = drawn_tree()
    assert len(drawn) == 22
    for name, parent in drawn.items():
        assert getattr(handrail, parent) in getattr(handrail, name).__bases__
    assert set(module.__all__) == set(drawn) | {"HandrailError"}


def test_handrail_error_catches_all():
    kinds: list[Any] = [getattr(handrail, name) for name in module.__all__]
    assert all(issubclass(kind, HandrailError) for kind in kinds)
    assert all(issubclass(kind, ControlError) for kind in (ControlRefused, ControlTimeout, NotSupported, RewindRefused))
