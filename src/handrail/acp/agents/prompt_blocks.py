"""Prompts of a host as the content blocks of ACP, as far as the agent takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from handrail.acp.agents.agent_process import AgentError
from handrail.agent.base import Prompt
from handrail.schema.acp import messages as acp

__all__ = ["prompt_blocks"]

JsonObject = dict[str, Any]
Make = Callable[[JsonObject, acp.PromptCapabilities, str], acp.ContentBlock]


def prompt_blocks(prompt: Prompt, capabilities: acp.AgentCapabilities, agent: str) -> list[acp.ContentBlock]:
    """The blocks of a prompt. Raises AgentError for content that the agent does not take."""
    if isinstance(prompt.content, str):
        return [acp.TextContent(text=prompt.content)]
    can = capabilities.prompt_capabilities or acp.PromptCapabilities()
    blocks: list[acp.ContentBlock] = []
    for block in prompt.content:
        make = _BLOCKS.get(str(block.get("type")))
        if make is None:
            raise AgentError(f"{agent} cannot be sent content of type {block.get('type')!s:.40} in a prompt")
        blocks.append(make(block, can, agent))
    return blocks


def _text(block: JsonObject, _can: acp.PromptCapabilities, _agent: str) -> acp.ContentBlock:
    return acp.TextContent(text=str(block.get("text") or ""))


def _image(block: JsonObject, can: acp.PromptCapabilities, agent: str) -> acp.ContentBlock:
    if not can.image:
        raise AgentError(f"{agent} takes no pictures in prompts (it lacks promptCapabilities.image)")
    source = _base64(block, "picture")
    return acp.ImageContent(data=source["data"], mime_type=str(source.get("media_type") or "image/png"))


def _document(block: JsonObject, can: acp.PromptCapabilities, agent: str) -> acp.ContentBlock:
    if not can.embedded_context:
        raise AgentError(f"{agent} takes no documents in prompts (it lacks promptCapabilities.embeddedContext)")
    uri = f"attachment:///{block.get('title') or 'document'}"
    source = _source(block)
    if source.get("type") == "text":
        return acp.EmbeddedResource(resource={"uri": uri, "text": str(source.get("data") or "")})
    found = _base64(block, "document")
    kind = str(found.get("media_type") or "application/pdf")
    return acp.EmbeddedResource(resource={"uri": uri, "blob": found["data"], "mimeType": kind})


def _source(block: JsonObject) -> JsonObject:
    source = block.get("source")
    return cast("JsonObject", source) if isinstance(source, dict) else {}


def _base64(block: JsonObject, what: str) -> JsonObject:
    source = _source(block)
    if source.get("type") != "base64" or not isinstance(source.get("data"), str):
        raise AgentError(f"a {what} in a prompt must contain its data as base64")
    return source


_BLOCKS: Final[Mapping[str, Make]] = {"text": _text, "image": _image, "document": _document}
