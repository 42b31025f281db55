"""The errors of the shim: one tree that also derives from Handrail's.

ClaudeSDKError (HandrailError)
├── CLIConnectionError         the CLI could not be started or does not answer
│   └── CLINotFoundError           `claude` was not found
├── ProcessError               the CLI exited with an error; has its exit code and stderr
│   └── ResultError                it exited after a turn that failed; has the result
└── CLIJSONDecodeError         a line is not JSON

An error of Handrail leaves the shim as an object of both trees: a refused control request is a `ClaudeSDKError` and a
`handrail.ControlRefused`, a lost CLI is a `ProcessError` and a `handrail.Disconnected`.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

from handrail.client.errors import (
    CliNotFound,
    Disconnected,
    HandrailError,
    HandshakeFailed,
    OptionsError,
    StartFailed,
)
from handrail.transcripts.errors import SessionNotFound, TranscriptError
from handrail.transport.base import Ending

__all__ = [
    "CLIConnectionError",
    "CLIJSONDecodeError",
    "CLINotFoundError",
    "ClaudeSDKError",
    "FailedResult",
    "LostProcess",
    "ProcessError",
    "ResultError",
    "as_shim_error",
    "failed_start",
    "shim_errors",
]

SHOWN = 100
"""Characters of a broken line that its error shows."""


class ClaudeSDKError(HandrailError):
    """The base of all errors of this package."""

    # The constructors below name their base: `super()` could be the error of Handrail in a class of both trees.


class CLIConnectionError(ClaudeSDKError):
    """The CLI could not be started, does not answer, or is not connected."""


class CLINotFoundError(CLIConnectionError):
    """The CLI was not found."""

    def __init__(self, message: str = "Claude Code not found", cli_path: str | None = None) -> None:
        Exception.__init__(self, message if not cli_path else f"{message}: {cli_path}")


class ProcessError(ClaudeSDKError):
    """The CLI exited with an error. `stderr` has the last lines that it wrote; a signal is a negative exit code."""

    exit_code: int | None
    stderr: str | None

    def __init__(self, message: str, exit_code: int | None = None, stderr: str | None = None) -> None:
        self.exit_code, self.stderr = exit_code, stderr
        text = message if exit_code is None else f"{message} (exit code: {exit_code})"
        Exception.__init__(self, f"{text}\nError output: {stderr}" if stderr else text)


class ResultError(ProcessError):
    """The CLI exited after a turn that failed. `data` is the frame of its result."""

    def __init__(self, message: str, data: dict[str, Any] | None = None, exit_code: int | None = None) -> None:
        self.data: dict[str, Any] = data or {}
        self.subtype: str | None = self.data.get("subtype")
        self.errors: list[str] = self.data.get("errors") or []
        self.result: str | None = self.data.get("result")
        self.api_error_status: int | None = self.data.get("api_error_status")
        self.terminal_reason: str | None = self.data.get("terminal_reason")
        self.session_id: str | None = self.data.get("session_id")
        ProcessError.__init__(self, message, exit_code=exit_code)


class CLIJSONDecodeError(ClaudeSDKError):
    """A line of the CLI is not JSON, or longer than `max_buffer_size`."""

    def __init__(self, line: str, original_error: Exception) -> None:
        self.line, self.original_error = line, original_error
        Exception.__init__(self, f"Failed to decode JSON: {line[:SHOWN]}...")


class LostProcess(ProcessError, Disconnected):
    """The CLI exited with an error and without a result that explains it."""

    exit_code: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    stderr: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, ending: Ending) -> None:
        self.ending = ending
        ProcessError.__init__(self, "Command failed", exit_code_of(ending), ending.stderr or None)


class FailedResult(ResultError, Disconnected):
    """The CLI exited after a turn that failed."""

    exit_code: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    stderr: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, ending: Ending, data: dict[str, Any]) -> None:
        self.ending = ending
        problem = "; ".join(data.get("errors") or ()) or data.get("result") or "no details"
        ResultError.__init__(self, f"The turn failed ({data.get('subtype')}): {problem}", data, exit_code_of(ending))
        self.stderr = ending.stderr or None  # pyright: ignore[reportIncompatibleMethodOverride]


SHIM_BASES: dict[type[Exception], tuple[type[Exception], ...]] = {
    CliNotFound: (CLINotFoundError,),
    StartFailed: (CLIConnectionError,),
    HandshakeFailed: (CLIConnectionError,),
    Disconnected: (CLIConnectionError,),
    SessionNotFound: (ClaudeSDKError, FileNotFoundError),
    TranscriptError: (ClaudeSDKError, ValueError),
    HandrailError: (ClaudeSDKError,),
}
"""The further bases of an error of Handrail; the first match counts. Session functions raise built-in errors."""


@contextmanager
def shim_errors() -> Generator[None]:
    """Raise errors of Handrail as errors of the shim."""
    try:
        yield
    except ClaudeSDKError:
        raise
    except (HandrailError, TranscriptError) as error:
        raise as_shim_error(error) from error.__cause__


def as_shim_error(error: Exception) -> ClaudeSDKError:
    """The error as an object of both trees, with the same text and attributes."""
    if isinstance(error, ClaudeSDKError):
        return error
    if isinstance(error, OptionsError) and error.option == "cli_path":
        return _in_both_trees(error, (CLINotFoundError,))
    return _in_both_trees(error, next(bases for ours, bases in SHIM_BASES.items() if isinstance(error, ours)))


def failed_start(error: StartFailed, ending: Ending, result: dict[str, Any] | None) -> ClaudeSDKError:
    """The error of a CLI that exited before it answered, with the result that explains it, if there is one."""
    if not ending.code and not ending.signal:
        return as_shim_error(error)
    bases = (ProcessError if result is None else ResultError, CLIConnectionError)
    code, stderr = exit_code_of(ending), ending.stderr or None
    like = ProcessError("", code) if result is None else ResultError("", result, code)
    return _in_both_trees(error, bases, **{**like.__dict__, "stderr": stderr})


def _in_both_trees(error: Exception, bases: tuple[type[Exception], ...], **attributes: Any) -> ClaudeSDKError:
    both = _combined(bases, type(error))
    made = both.__new__(both)
    made.args = error.args
    made.__dict__.update(error.__dict__, **attributes)
    return made.with_traceback(error.__traceback__)


@cache
def _combined(bases: tuple[type[Exception], ...], ours: type[Exception]) -> type[ClaudeSDKError]:
    name = ours.__name__ if bases[0] is ClaudeSDKError else bases[0].__name__
    own = {"__module__": __name__, "__doc__": ours.__doc__}
    return cast("type[ClaudeSDKError]", type(name, (*bases, ours), own))


def exit_code_of(ending: Ending) -> int | None:
    """The exit code as the `subprocess` module counts it: a signal is negative."""
    if not ending.signal:
        return ending.code
    known = signal.Signals.__members__.get(ending.signal)
    return -(known.value if known else int(ending.signal.removeprefix("signal ")))
