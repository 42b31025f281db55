"""Prompts of an editor as content blocks of the CLI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from handrail.acp.rpc import INVALID_PARAMS, RpcError
from handrail.schema.acp.messages import ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent

__all__ = ["prompt_blocks"]


def prompt_blocks(given: Sequence[ContentBlock]) -> list[dict[str, Any]]:
    """The blocks for the CLI. Raises RpcError for an empty prompt and for what the CLI cannot take."""
    blocks = [block for item in given for block in _blocks(item)]
    if not blocks:
        raise RpcError(INVALID_PARAMS, "the prompt is empty")
    return blocks


def _blocks(item: ContentBlock) -> Iterator[dict[str, Any]]:
    match item:
        case TextContent(text=text):
            if text:
                yield _text(text)
        case ImageContent(data=data, mime_type=kind):
            yield {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        case ResourceLink(uri=uri, name=name):
            yield _text(_link(uri, name))
        case EmbeddedResource(resource=resource) if isinstance(resource, dict):
            yield from _embedded(cast("dict[str, Any]", resource))
        case _:
            raise RpcError(
                INVALID_PARAMS, "the prompt contains audio or a block of an unknown kind, which is not supported"
            )


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _link(uri: str, name: str) -> str:
    """A file is mentioned as the CLI mentions files, so that it reads it; anything else is named with its address."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme == "file" and path and not any(sign.isspace() for sign in path):
        return f"@{path}"
    return f"[{name or uri}]({uri})"


def _embedded(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    uri, text, blob = (str(resource.get(name) or "") for name in ("uri", "text", "blob"))
    kind = str(resource.get("mimeType") or "")
    if blob and kind.startswith("image/"):
        yield {"type": "image", "source": {"type": "base64", "media_type": kind, "data": blob}}
    elif blob:
        raise RpcError(INVALID_PARAMS, f"{uri or 'the resource'} is neither text nor an image, which is not supported")
    else:
        yield _text(f'<context ref="{uri}">\n{text}\n</context>')
