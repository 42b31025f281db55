"""Public fakes for tests, and conformance suites for implementations of the ports."""

from handrail.agent.models.player import PlayedReply, Player
from handrail.agent.models.script import (
    Reply,
    Script,
    ScriptError,
    When,
    cut,
    hang,
    http_error,
    load_script,
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
from handrail.conform.request_file import read_requests, write_requests
from handrail.testing.event_log_suite import (
    DURABLE_EVENT_LOG_CHECKS,
    EVENT_LOG_CHECKS,
    EventLogCheck,
    EventLogPlace,
)
from handrail.testing.lab import Lab, real_cli
from handrail.testing.memory_store import MemoryEventLog, MemorySessionIndex, MemorySessionWriter
from handrail.testing.nats_server import NatsCluster, NatsServer
from handrail.testing.ownership_suite import (
    OWNERSHIP_CHECKS,
    SHARED_OWNERSHIP_CHECKS,
    OwnershipCheck,
    SharedOwnership,
    SharedOwnershipCheck,
    SharingMachine,
)
from handrail.testing.port_check import PortFault, run_port_check
from handrail.testing.scripted_cli import ScriptedCli, asks, exits, fold, hold, merges, together
from handrail.testing.session_index_suite import SESSION_INDEX_CHECKS, SessionIndexCheck
from handrail.testing.session_store_suite import SESSION_STORE_CHECKS, SessionStoreCheck
from handrail.testing.session_writer_suite import (
    DURABLE_SESSION_WRITER_CHECKS,
    SESSION_WRITER_CHECKS,
    SessionWriterCheck,
    SessionWriterPlace,
)
from handrail.testing.shared_values_suite import SHARED_VALUES_CHECKS, SharedValuesCheck
from handrail.testing.transport_suite import (
    TRANSPORT_CHECKS,
    Connect,
    TransportCheck,
    TransportFault,
    run_transport_check,
)

__all__ = [
    "DURABLE_EVENT_LOG_CHECKS",
    "DURABLE_SESSION_WRITER_CHECKS",
    "EVENT_LOG_CHECKS",
    "OWNERSHIP_CHECKS",
    "SESSION_INDEX_CHECKS",
    "SESSION_STORE_CHECKS",
    "SESSION_WRITER_CHECKS",
    "SHARED_OWNERSHIP_CHECKS",
    "SHARED_VALUES_CHECKS",
    "TRANSPORT_CHECKS",
    "Connect",
    "Endpoint",
    "EventLogCheck",
    "EventLogPlace",
    "Lab",
    "MemoryEventLog",
    "MemorySessionIndex",
    "MemorySessionWriter",
    "NatsCluster",
    "NatsServer",
    "OwnershipCheck",
    "PlayedReply",
    "Player",
    "PortFault",
    "ReceivedRequest",
    "Reply",
    "Script",
    "ScriptError",
    "ScriptedCli",
    "ScriptedMessagesApi",
    "SessionIndexCheck",
    "SessionStoreCheck",
    "SessionWriterCheck",
    "SessionWriterPlace",
    "SharedOwnership",
    "SharedOwnershipCheck",
    "SharedValuesCheck",
    "SharingMachine",
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
    "read_requests",
    "real_cli",
    "redacted_thinking",
    "reply",
    "run_port_check",
    "run_transport_check",
    "stream_error",
    "text",
    "thinking",
    "together",
    "tool_use",
    "wait",
    "write_requests",
]
