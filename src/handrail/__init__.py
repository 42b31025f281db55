"""Handrail: both ends of the Claude CLI's stream-json and control protocol, and an SDK that drives it.

Every public name is here. Its module is imported when the name is first used, so that `import handrail` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import handrail.blocking as blocking
    from handrail.client.callbacks import (
        Allow,
        Deny,
        ElicitationAnswer,
        ElicitationRequest,
        PermissionRequest,
        UserDialogRequest,
    )
    from handrail.client.errors import (
        CliNotFound,
        ControlError,
        ControlRefused,
        ControlTimeout,
        Disconnected,
        HandrailError,
        HandshakeFailed,
        InboxFull,
        LocalProtocolError,
        NotSupported,
        OptionsError,
        ProtocolError,
        RemoteProtocolError,
        RewindRefused,
        SessionStoreError,
        StartFailed,
        TurnCancelled,
        TurnFailed,
    )
    from handrail.client.find_cli import find_cli
    from handrail.client.hook_callbacks import HookMatcher
    from handrail.client.mcp_results import (
        ToolResult,
        audio_content,
        embedded_resource,
        image_content,
        resource_link,
        text_content,
    )
    from handrail.client.mcp_servers import McpServer, mcp_server
    from handrail.client.mcp_tools import Tool, ToolContext, tool
    from handrail.client.options import Options
    from handrail.client.query import Query, query
    from handrail.client.readers import FrameReader, MessageReader, TurnReader
    from handrail.client.rule_policy import RulePolicy
    from handrail.client.session import Session
    from handrail.client.turn import Turn, TurnResult
    from handrail.client.usage import TurnUsage
    from handrail.schema.hooks import HookInput, HookOutput
    from handrail.schema.message_view import MessageView, UnknownMessage
    from handrail.schema.messages import AssistantMessage, UserMessage
    from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate
    from handrail.schema.questions import Question
    from handrail.schema.result_message import ResultMessage
    from handrail.schema.stream_events import StreamEvent
    from handrail.schema.system_messages import InitMessage, SystemMessage
    from handrail.transcripts import (
        delete_session,
        fork_session,
        list_sessions,
        read_session,
        rename_session,
        search_sessions,
    )
    from handrail.transport.base import Ending, Transport

_PLACES = {
    "client.callbacks": "Allow Deny ElicitationAnswer ElicitationRequest PermissionRequest UserDialogRequest",
    "client.errors": "CliNotFound ControlError ControlRefused ControlTimeout Disconnected HandrailError HandshakeFailed"
    " InboxFull LocalProtocolError NotSupported OptionsError ProtocolError RemoteProtocolError RewindRefused"
    " SessionStoreError StartFailed TurnCancelled TurnFailed",
    "client.find_cli": "find_cli",
    "client.hook_callbacks": "HookMatcher",
    "client.mcp_results": "ToolResult audio_content embedded_resource image_content resource_link text_content",
    "client.mcp_servers": "McpServer mcp_server",
    "client.mcp_tools": "Tool ToolContext tool",
    "client.options": "Options",
    "client.query": "Query query",
    "client.readers": "FrameReader MessageReader TurnReader",
    "client.rule_policy": "RulePolicy",
    "client.session": "Session",
    "client.turn": "Turn TurnResult",
    "client.usage": "TurnUsage",
    "schema.hooks": "HookInput HookOutput",
    "schema.message_view": "MessageView UnknownMessage",
    "schema.messages": "AssistantMessage UserMessage",
    "schema.permission_types": "PermissionRuleValue PermissionUpdate",
    "schema.questions": "Question",
    "schema.result_message": "ResultMessage",
    "schema.stream_events": "StreamEvent",
    "schema.system_messages": "InitMessage SystemMessage",
    "transcripts": "delete_session fork_session list_sessions read_session rename_session search_sessions",
    "transport.base": "Ending Transport",
}
"""Where each public name lives."""

_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Allow",
    "AssistantMessage",
    "CliNotFound",
    "ControlError",
    "ControlRefused",
    "ControlTimeout",
    "Deny",
    "Disconnected",
    "ElicitationAnswer",
    "ElicitationRequest",
    "Ending",
    "FrameReader",
    "HandrailError",
    "HandshakeFailed",
    "HookInput",
    "HookMatcher",
    "HookOutput",
    "InboxFull",
    "InitMessage",
    "LocalProtocolError",
    "McpServer",
    "MessageReader",
    "MessageView",
    "NotSupported",
    "Options",
    "OptionsError",
    "PermissionRequest",
    "PermissionRuleValue",
    "PermissionUpdate",
    "ProtocolError",
    "Query",
    "Question",
    "RemoteProtocolError",
    "ResultMessage",
    "RewindRefused",
    "RulePolicy",
    "Session",
    "SessionStoreError",
    "StartFailed",
    "StreamEvent",
    "SystemMessage",
    "Tool",
    "ToolContext",
    "ToolResult",
    "Transport",
    "Turn",
    "TurnCancelled",
    "TurnFailed",
    "TurnReader",
    "TurnResult",
    "TurnUsage",
    "UnknownMessage",
    "UserDialogRequest",
    "UserMessage",
    "audio_content",
    "blocking",
    "delete_session",
    "embedded_resource",
    "find_cli",
    "fork_session",
    "image_content",
    "list_sessions",
    "mcp_server",
    "query",
    "read_session",
    "rename_session",
    "resource_link",
    "search_sessions",
    "text_content",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name == "blocking":
        return importlib.import_module("handrail.blocking")
    if name not in _MODULES:
        raise AttributeError(f"module 'handrail' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"handrail.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
