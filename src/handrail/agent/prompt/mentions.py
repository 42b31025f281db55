"""Files and resources that a prompt mentions with `@`. In: its text. Out: blocks with what they hold.

They are read under the same rules as the tool Read: what would have to be asked for is left out, and the model told so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from handrail.agent.history import text_block
from handrail.agent.tools.base import ToolFailed

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["expand"]

JsonObject = dict[str, Any]
_MENTION: Final = re.compile(r"(?:^|(?<=[\s(]))@(?:\"([^\"\n]+)\"|([^\s,;!?()\"]+))")
MOST: Final = 20


async def expand(text: str, engine: Engine) -> list[JsonObject]:
    """What a prompt mentions, as blocks for the model."""
    blocks: list[JsonObject] = []
    names = dict.fromkeys((quoted or plain).rstrip(".:") for quoted, plain in _MENTION.findall(text))
    for name in list(names)[:MOST]:
        if not name:
            continue
        server, colon, uri = name.partition(":")
        if colon and server in engine.hub.names():
            blocks += await _resource(server, uri, engine)
        else:
            blocks += await _file(name, engine)
    return blocks


async def _resource(server: str, uri: str, engine: Engine) -> list[JsonObject]:
    try:
        contents = await engine.hub.read_resource(server, uri)
    except Exception as error:  # whatever a server does, the prompt goes on
        return [text_block(f"The resource {uri} of {server} could not be read: {error}")]
    texts = [text_block(str(part["text"])) for part in contents if isinstance(part.get("text"), str)]
    return [text_block(f"The resource {uri} of {server}:"), *texts]


async def _file(name: str, engine: Engine) -> list[JsonObject]:
    tool = engine.toolbox.known.get("Read")
    resolved = engine.desk.resolve(name)
    if tool is None or resolved.kind in ("missing", "other"):
        return []
    path = resolved.lexical
    if not engine.session.may_read(path):
        return [text_block(f"{name} was mentioned, but may not be read unasked.")]
    if resolved.kind == "directory":
        return [text_block(f"{name} is a folder; look into it with the tools.")]
    try:
        outcome = await tool.run(tool.read({"file_path": path}), engine.desk.for_call(""))
    except ToolFailed as error:
        return [text_block(f"{name} could not be read: {error}")]
    content = [text_block(outcome.content)] if isinstance(outcome.content, str) else outcome.content
    return [text_block(f"The file {path}, which was mentioned:"), *content]
