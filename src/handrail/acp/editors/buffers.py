"""Unsaved changes of an editor, for the tools of the CLI, which work on saved files.

After a file was read, the model also gets the text that the editor has of it, if that differs. An edit of such a file
is refused until it is saved, because the editor and the tool would overwrite each other's changes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from handrail.client.hook_callbacks import HookMatcher
from handrail.schema.hook_output import HookOutput
from handrail.schema.tool_hooks import ToolHookInput

__all__ = ["Buffer", "buffer_hooks"]

Buffer = Callable[[str], Awaitable["str | None"]]
"""The text that the editor has of the file at an absolute path; None if it does not answer."""
LARGEST: Final = 256 * 1024
"""Characters of a buffer that the model gets; of a longer one it gets the note alone."""


def buffer_hooks(buffer: Buffer) -> dict[str, Sequence[HookMatcher]]:
    """The hooks that let a CLI respect the buffers of an editor."""

    async def after_read(event: ToolHookInput) -> HookOutput | None:
        path, text = await _unsaved(event, buffer)
        if text is None:
            return None
        note = f"The user has unsaved changes of {path} in the editor."
        shown = f" The text in the editor is:\n{text}" if len(text) <= LARGEST else " The text is too long to be shown."
        return HookOutput(additional_context=note + shown)

    async def before_edit(event: ToolHookInput) -> HookOutput | None:
        path, text = await _unsaved(event, buffer)
        if text is None:
            return None
        why = f"the user has unsaved changes of {path} in the editor; ask them to save the file, then read it again"
        return HookOutput(permission_decision="deny", permission_decision_reason=why)

    return {
        "PostToolUse": [HookMatcher(matcher="Read", hooks=[after_read])],
        "PreToolUse": [HookMatcher(matcher="Edit|MultiEdit|Write", hooks=[before_edit])],
    }


async def _unsaved(event: ToolHookInput, buffer: Buffer) -> tuple[str, str | None]:
    """The path of a tool call, and the editor's text of that file if it differs from the saved one."""
    given: Any = event.tool_input.get("file_path")
    path = os.path.join(event.cwd, given) if isinstance(given, str) else ""
    saved = await asyncio.to_thread(_saved, path)
    text = await buffer(path) if saved is not None else None
    return path, None if text is None or text == saved else text


def _saved(path: str) -> str | None:
    """The text of a file; None if it is missing or not text."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError):
        return None
