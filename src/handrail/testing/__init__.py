"""Public fakes for tests. In: a script of what the model says. Out: an API to point a CLI at, and a place to run it."""

from handrail.testing.lab import Lab, real_cli
from handrail.testing.load_script import load_script
from handrail.testing.messages_api import Endpoint, ReceivedRequest, ScriptedMessagesApi
from handrail.testing.player import PlayedReply, Player
from handrail.testing.script import (
    Reply,
    Script,
    ScriptError,
    When,
    cut,
    hang,
    http_error,
    raw_tool_use,
    redacted_thinking,
    reply,
    stream_error,
    text,
    thinking,
    tool_use,
    wait,
)

__all__ = [
    "Endpoint",
    "Lab",
    "PlayedReply",
    "Player",
    "ReceivedRequest",
    "Reply",
    "Script",
    "ScriptError",
    "ScriptedMessagesApi",
    "When",
    "cut",
    "hang",
    "http_error",
    "load_script",
    "raw_tool_use",
    "real_cli",
    "redacted_thinking",
    "reply",
    "stream_error",
    "text",
    "thinking",
    "tool_use",
    "wait",
]
