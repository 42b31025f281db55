"""`handrail tour`: a recorded session through the real SDK, with captions.

What is shown is what `handrail run` shows: the same session, callbacks and drawing; only the CLI is a recording. At a
terminal the person answers the permission questions and there is time to read; elsewhere it answers itself at once.
"""

from __future__ import annotations

import asyncio
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.terminal import Terminal, closed_pipe_ends_quietly

if TYPE_CHECKING:
    from handrail.client.callbacks import Allow, Deny, PermissionRequest
    from handrail.protocol import BadLine, Message
    from handrail.transport.recording_file import Recording

__all__ = ["Tour", "app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

RECORDING = Path(__file__).with_name("tour.ndjson")
LETTERS_PER_SECOND = 30.0
PAUSES = {"stream_event": 0.1, "user": 0.7}
"""Seconds before a message is shown, so that it can be read."""

WELCOME = (
    "Handrail drives the Claude CLI from Python. This is a real session, played back from a recording through the "
    "SDK: no account, no network, nothing on this machine is changed."
)
PROMPT = "A session begins with a prompt."
STREAM = "The answer arrives as it is written. Thinking is dim; each tool is one line with its outcome."
ASKED = (
    "Now the CLI asks for permission, and the SDK calls your function. Here it asks you, as `handrail run` does. "
    "Answer as you like: a recording can only go on as it was recorded, and there the answer was yes."
)
DENIED = "(A live CLI would have told the model no. The recording continues with yes.)"
FIGURES = "A turn ends with one result: its text, this turn's own cost and tokens, and the session to go on with."
NEXT = """That was the tour. Try next:

  handrail doctor                                what is here and what is missing
  handrail run "What does this project do?"      the same with your own prompt, where a CLI is installed
  handrail inspect {recording}
                                                 the wire of what you have just seen, both directions
"""


@app.command()
def tour(
    speed: Annotated[
        float, typer.Option(min=0, metavar="X", help="1: reading speed, 2: twice as fast, 0: no waiting.")
    ] = 1,
) -> None:
    """Play a recorded session through the SDK, with explanations. It takes a minute and needs no account or network.

    \b
    Example:
      handrail tour
      handrail tour --speed 2
    """
    live = sys.stdin.isatty() and sys.stdout.isatty()
    terminal = Terminal() if live else SelfAnswering()
    with closed_pipe_ends_quietly():
        raise typer.Exit(asyncio.run(Tour(terminal, speed=speed if live else 0).run(RECORDING)))


class SelfAnswering(Terminal):
    """A terminal without a person: every question is answered with yes, visibly."""

    def __init__(self) -> None:
        super().__init__(asks=sys.stdout)

    async def read_line(self, prompt: str) -> str | None:
        self.write(f"{prompt}y", end="  (answered by the tour)\n", stream=self.asks)
        return "y"


class Tour:
    """One tour. `speed` 0 waits for nothing."""

    def __init__(self, terminal: Terminal, *, speed: float) -> None:
        from handrail.cli.answers import Answers
        from handrail.cli.turn_view import TurnView

        self._terminal = terminal
        self._speed = speed
        self._view = TurnView(terminal, thinking=True)
        self._answers = Answers(terminal, self._view)
        self._told: set[str] = set()
        self._playing: asyncio.Task[None] | None = None

    async def run(self, path: Path) -> int:
        """Play the recording. Returns the exit code."""
        from handrail.client.errors import HandrailError
        from handrail.transport.recording_file import RecordingError, read_recording

        try:
            recording = read_recording(path)
            self._playing = asyncio.create_task(self._play(recording))
            await asyncio.wait([self._playing])
            if self._playing.cancelled():
                self._terminal.line("You have left the tour.", "dim")
            else:
                self._playing.result()
        except BrokenPipeError:
            raise
        except (HandrailError, RecordingError, OSError) as error:
            self._terminal.line(f"handrail tour: {error}", "red", stream=sys.stderr)
            return 1
        finally:
            await self._stop_playing()
        self._view.paragraph(NEXT.format(recording=path))
        return 0

    async def _stop_playing(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.wait([self._playing])

    async def _play(self, recording: Recording) -> None:
        from handrail.cli.figures import figures_of
        from handrail.cli.follow import follow
        from handrail.client.options import Options
        from handrail.client.session import Session
        from handrail.transport.replay_transport import ReplayTransport

        prompt = first_prompt(recording)
        await self._caption(WELCOME)
        callbacks: dict[str, Any] = {**self._answers.options(), "can_use_tool": self._can_use_tool}
        options = Options(include_partial_messages=True, **callbacks)
        async with Session(options, transport=ReplayTransport(recording)) as session:
            await self._caption(PROMPT)
            self._view.paragraph(f"› {prompt}", "bold")
            frames = session.frames()
            turn = await session.send(prompt)
            await follow(session, turn, frames, self._view, show=self._show, arrived=self._arrived)
            result = await turn
        await self._caption(FIGURES)
        self._view.note(figures_of([(result.message, result.used)]))

    async def _show(self, message: Message | BadLine) -> None:
        from handrail.protocol import Message
        from handrail.schema.messages import read_message

        if not isinstance(message, Message):
            return
        if message.type == "stream_event":
            await self._caption_once(STREAM)
        await self._pause(PAUSES.get(message.type, 0))
        async with self._terminal.lock:
            self._view.show(read_message(message.type, message.subtype, message.raw))

    def _arrived(self) -> None:
        if ASKED not in self._told:
            self._told.add(ASKED)
            self._write(ASKED)
        self._answers.arrived()

    async def _can_use_tool(self, asked: PermissionRequest) -> Allow | Deny:
        from handrail.client.callbacks import Deny

        answer: Allow | Deny = await self._answers.options()["can_use_tool"](asked)
        if isinstance(answer, Deny):
            if answer.interrupt and self._playing is not None:
                self._playing.cancel()
            else:
                self._write(DENIED)
        return answer

    # Captions
    async def _caption_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            await self._caption(text)

    async def _caption(self, text: str) -> None:
        self._write(text)
        await self._pause(len(text) / LETTERS_PER_SECOND)

    def _write(self, text: str) -> None:
        width = min(self._terminal.width, 90)
        self._view.paragraph(textwrap.fill(text, width, initial_indent="  ◦ ", subsequent_indent="    "), "cyan")

    async def _pause(self, seconds: float) -> None:
        if self._speed and seconds:
            await asyncio.sleep(seconds / self._speed)


def first_prompt(recording: Recording) -> str:
    """The first prompt. Raises RecordingError without one."""
    from handrail.schema.messages import UserMessage, read_message
    from handrail.transport.recording_file import RecordingError

    for row in recording.rows:
        if row.dir == "in" and b'"user"' in row.data:
            message = read_message("user", "", row.data)
            if isinstance(message, UserMessage) and message.type == "user" and message.text:
                return message.text
    raise RecordingError("the recording has no prompt")
