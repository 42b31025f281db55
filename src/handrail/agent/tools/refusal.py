"""A call that is refused before anything is done. In: why, in words. Out: the outcome, marked as the call's fault."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from handrail.agent.tools.base import Outcome, ToolFailed
from handrail.files.errors import FileError

__all__ = ["files_explained", "refused"]


def refused(problem: str) -> Outcome:
    """The call cannot be right; the model is told so between marks, hosts plainly."""
    return Outcome(f"<tool_use_error>{problem}</tool_use_error>", f"Error: {problem}", is_error=True)


@contextlib.contextmanager
def files_explained() -> Generator[None]:
    """What goes wrong with a file leaves as ToolFailed."""
    try:
        yield
    except FileError as error:
        raise ToolFailed(str(error)) from error
    except OSError as error:
        raise ToolFailed(f"The system says: {error.strerror or error}") from error
