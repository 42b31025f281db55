"""Converting the return value or exception of a tool to the `result` of a tools/call."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, cast

import msgspec

JsonObject = dict[str, Any]


class ContentBlock(dict[str, Any]):
    """One block of MCP content; distinguishes it from a dict that is the tool's data."""


class ToolResult(msgspec.Struct, kw_only=True):
    """The full result of a tool, if a plain return value is not enough.

    `content` contains texts, blocks of this module and raw MCP blocks; `structured` is the machine-readable object. If
    both are given, the CLI shows the model `structured` instead of `content`.
    """

    content: Sequence[str | JsonObject] = ()
    structured: JsonObject | None = None
    is_error: bool = False
    meta: JsonObject | None = None


def text_content(text: str) -> ContentBlock:
    """A block of text. Unpaired surrogates, which UTF-8 cannot encode, become question marks."""
    return ContentBlock(type="text", text=text.encode("utf-8", "replace").decode())


def image_content(data: bytes, media_type: str) -> ContentBlock:
    """An image, such as `image_content(png, "image/png")`."""
    return ContentBlock(type="image", data=base64.b64encode(data).decode(), mimeType=media_type)


def audio_content(data: bytes, media_type: str) -> ContentBlock:
    """Audio, such as `audio_content(wav, "audio/wav")`."""
    return ContentBlock(type="audio", data=base64.b64encode(data).decode(), mimeType=media_type)


def resource_link(
    uri: str, name: str, *, description: str | None = None, media_type: str | None = None
) -> ContentBlock:
    """A link to a resource that the client may fetch."""
    optional = {"description": description, "mimeType": media_type}
    given = {key: value for key, value in optional.items() if value is not None}
    return ContentBlock(type="resource_link", uri=uri, name=name, **given)


def embedded_resource(uri: str, content: str | bytes, *, media_type: str | None = None) -> ContentBlock:
    """A resource with its content: text, or bytes in base64."""
    body = {"text": content} if isinstance(content, str) else {"blob": base64.b64encode(content).decode()}
    kind = {} if media_type is None else {"mimeType": media_type}
    return ContentBlock(type="resource", resource={"uri": uri, **kind, **body})


def failure(message: str) -> JsonObject:
    """An error result, which tells the model what went wrong."""
    return {"content": [text_content(message)], "isError": True}


def describe_error(error: BaseException) -> str:
    """The message of an exception, with its type if it is a single word, such as the key of a KeyError."""
    message = str(error).strip()
    if " " in message:
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def result_of(value: object) -> JsonObject:
    """Convert a return value. Raises TypeError if it cannot be encoded as JSON."""
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
    # Encode now, while the error can still name the tool; the wire would fail later.
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
