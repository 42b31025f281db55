"""Public fakes for tests, and suites for what others build. In: a script of what the model says, or a transport.
Out: an API to point a CLI at and a place to run it, or what the transport does wrong."""

from handrail.agent.models.load_script import load_script
from handrail.agent.models.player import PlayedReply, Player
from handrail.agent.models.script import (
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
from handrail.conform.messages_api import Endpoint, ReceivedRequest, ScriptedMessagesApi
from handrail.testing.lab import Lab, real_cli
from handrail.testing.scripted_cli import ScriptedCli, asks, exits, fold, hold, merges, together
from handrail.testing.transport_suite import (
    TRANSPORT_CHECKS,
    Connect,
    TransportCheck,
    TransportFault,
    run_transport_check,
)

__all__ = [
    "TRANSPORT_CHECKS",
    "Connect",
    "Endpoint",
    "Lab",
    "PlayedReply",
    "Player",
    "ReceivedRequest",
    "Reply",
    "Script",
    "ScriptError",
    "ScriptedCli",
    "ScriptedMessagesApi",
    "TransportCheck",
    "TransportFault",
    "When",
    "asks",
    "cut",
    "exits",
    "fold",
    "hang",
    "hold",
    "http_error",
    "load_script",
    "merges",
    "raw_tool_use",
    "real_cli",
    "redacted_thinking",
    "reply",
    "run_transport_check",
    "stream_error",
    "text",
    "thinking",
    "together",
    "tool_use",
    "wait",
]
