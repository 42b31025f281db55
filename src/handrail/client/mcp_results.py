"""What a tool gives back. In: whatever its function returned or raised. Out: the `result` of a tools/call."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, cast

import msgspec

JsonObject = dict[str, Any]


class ContentBlock(dict[str, Any]):
    """One block of MCP content, as opposed to a dict that is the tool's data."""


class ToolResult(msgspec.Struct, kw_only=True):
    """The whole answer of a tool, for when a plain return value is not enough.

    `content` holds texts, blocks of this module and raw MCP blocks; `structured` is the machine-readable object. The
    CLI shows the model `structured` in place of `content` when both are given.
    """

    content: Sequence[str | JsonObject] = ()
    structured: JsonObject | None = None
    is_error: bool = False
    meta: JsonObject | None = None


def text_content(text: str) -> ContentBlock:
    """A block of text. Half of a surrogate pair cannot travel as UTF-8 and becomes a question mark."""
    return ContentBlock(type="text", text=text.encode("utf-8", "replace").decode())


def image_content(data: bytes, media_type: str) -> ContentBlock:
    """A picture, such as `image_content(png, "image/png")`."""
    return ContentBlock(type="image", data=base64.b64encode(data).decode(), mimeType=media_type)


def audio_content(data: bytes, media_type: str) -> ContentBlock:
    """A sound, such as `audio_content(wav, "audio/wav")`."""
    return ContentBlock(type="audio", data=base64.b64encode(data).decode(), mimeType=media_type)


def resource_link(
    uri: str, name: str, *, description: str | None = None, media_type: str | None = None
) -> ContentBlock:
    """A pointer to something that the reader may fetch."""
    optional = {"description": description, "mimeType": media_type}
    given = {key: value for key, value in optional.items() if value is not None}
    return ContentBlock(type="resource_link", uri=uri, name=name, **given)


def embedded_resource(uri: str, content: str | bytes, *, media_type: str | None = None) -> ContentBlock:
    """A resource with its content: text as it is, bytes in base64."""
    body = {"text": content} if isinstance(content, str) else {"blob": base64.b64encode(content).decode()}
    kind = {} if media_type is None else {"mimeType": media_type}
    return ContentBlock(type="resource", resource={"uri": uri, **kind, **body})


def failure(message: str) -> JsonObject:
    """The result that tells the model what went wrong, so that it can try otherwise."""
    return {"content": [text_content(message)], "isError": True}


def describe_error(error: BaseException) -> str:
    """The message of an exception. A single word (a KeyError's key, say) tells nothing without the type."""
    message = str(error).strip()
    if " " in message:
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def result_of(value: object) -> JsonObject:
    """The result for what the function returned. Raises TypeError when it cannot travel as JSON."""
    if value is None:
        return {"content": []}
    if isinstance(value, str):
        return {"content": [text_content(value)]}
    if isinstance(value, ToolResult):
        return _whole(value)
    if isinstance(value, ContentBlock):
        return _whole(ToolResult(content=[value]))
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        return _whole(ToolResult(content=items)) if any(isinstance(i, ContentBlock) for i in items) else _data(items)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("the tool returned bytes; wrap them in image_content, audio_content or embedded_resource")
    return _data(value)


def _whole(value: ToolResult) -> JsonObject:
    result: JsonObject = {"content": [_block(item) for item in value.content]}
    if value.structured is not None:
        result["structuredContent"] = value.structured
    if value.is_error:
        result["isError"] = True
    if value.meta is not None:
        result["_meta"] = value.meta
    # The round trip refuses here, where the tool can still be named, what the wire would refuse later.
    return msgspec.json.decode(_encode(result))


def _block(item: Any) -> JsonObject:
    if isinstance(item, str):
        return text_content(item)
    if isinstance(item, dict) and "type" in item:
        return cast("JsonObject", item)
    kind = type(cast("object", item)).__name__
    raise TypeError(f"the tool returned a {kind} as content; use a text or a block such as text_content")


def _data(value: object) -> JsonObject:
    encoded = _encode(value)
    result: JsonObject = {"content": [text_content(encoded.decode())]}
    decoded = msgspec.json.decode(encoded)
    if isinstance(decoded, dict):
        result["structuredContent"] = decoded
    return result


def _encode(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(value).__name__
        raise TypeError(f"the tool returned a {kind} that cannot be written as JSON: {error}") from error
