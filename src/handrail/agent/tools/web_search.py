"""WebSearch: a search by the API's own tool. In: what to search for. Out: links and what was said about them.

`desk.notes["web_search"]` is a coroutine function that takes a WebSearchInput and gives the content blocks with which
the API answers: `server_tool_use`, `web_search_tool_result` and `text`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed
from handrail.agent.tools.refusal import refused

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["WebSearch", "WebSearchInput"]

Search = Callable[["WebSearchInput"], Awaitable[list[JsonObject]]]


class WebSearchInput(Struct, frozen=True):
    """What to search for, and on which sites."""

    query: Annotated[str, Meta(min_length=2, description="What to search for.")]
    allowed_domains: Annotated[list[str], Meta(description="Only hits from these sites.")] = field(
        default_factory=list[str]
    )
    blocked_domains: Annotated[list[str], Meta(description="No hits from these sites.")] = field(
        default_factory=list[str]
    )


class WebSearch(Tool[WebSearchInput]):
    """Searches the web."""

    name = "WebSearch"
    description = "Searches the web for what you cannot know: news, versions, documentation. Name the sources you use."
    Input = WebSearchInput
    concurrent = True

    def describe(self, given: WebSearchInput) -> str:
        return given.query

    async def run(self, given: WebSearchInput, desk: Desk) -> Outcome:
        if given.allowed_domains and given.blocked_domains:
            return refused("allowed_domains and blocked_domains cannot be given both; leave one out.")
        search = desk.notes.get("web_search")
        if not callable(search):
            raise ToolFailed("There is no web search here: it is done by the Messages API, which this session lacks.")
        began = time.monotonic()
        results = _results(await cast("Search", search)(given))
        detail = {"query": given.query, "results": results, "durationSeconds": time.monotonic() - began}
        return Outcome(_said(given.query, results), detail)


def _results(blocks: list[JsonObject]) -> list[Any]:
    """Lists of hits, and the texts between them."""
    results: list[Any] = []
    for block in blocks:
        if block.get("type") == "text" and str(block.get("text", "")).strip():
            text = str(block["text"])
            if results and isinstance(results[-1], str):
                results[-1] += text
            else:
                results.append(text)
        elif block.get("type") == "web_search_tool_result":
            results.append(_hits(block))
    return results


def _hits(block: JsonObject) -> JsonObject | str:
    found = block.get("content")
    if not isinstance(found, list):
        code = cast("JsonObject", found).get("error_code") if isinstance(found, dict) else "unknown"
        return f"Web search error: {code}"
    hits = [cast("JsonObject", hit) for hit in cast("list[object]", found) if isinstance(hit, dict)]
    content = [{"title": str(hit.get("title", "")), "url": str(hit.get("url", ""))} for hit in hits]
    return {"tool_use_id": block.get("tool_use_id"), "content": content}


def _said(query: str, results: list[Any]) -> str:
    parts = [f'Web search results for query: "{query}"']
    for result in results:
        if isinstance(result, str):
            parts.append(result)
        else:
            parts.append(f"Links: {msgspec.json.encode(result['content']).decode()}")
    if len(parts) == 1:
        parts.append("Nothing was found.")
    parts.append("Name the sources that you use, with their addresses.")
    return "\n\n".join(parts)
