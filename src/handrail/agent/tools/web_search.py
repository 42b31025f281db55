"""The WebSearch tool: searches the web with the Messages API's own search.

`desk.search_web` returns the content blocks of the API: `server_tool_use`, `web_search_tool_result` and `text`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed, refused

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["WebSearch", "WebSearchInput"]


class WebSearchInput(Struct, frozen=True):
    """The query, and the sites to search."""

    query: Annotated[str, Meta(min_length=2, description="What to search for.")]
    allowed_domains: Annotated[list[str], Meta(description="Only results from these sites.")] = field(
        default_factory=list[str]
    )
    blocked_domains: Annotated[list[str], Meta(description="No results from these sites.")] = field(
        default_factory=list[str]
    )


class WebSearch(Tool[WebSearchInput]):
    """Searches the web."""

    name = "WebSearch"
    description = """\
Searches the web for what may have changed since you were trained: news, versions, documentation. `allowed_domains` \
and `blocked_domains` narrow it. Name the pages you used, with their addresses."""
    Input = WebSearchInput
    concurrent = True

    def describe(self, given: WebSearchInput) -> str:
        return given.query

    async def run(self, given: WebSearchInput, desk: Desk) -> Outcome:
        if given.allowed_domains and given.blocked_domains:
            return refused("allowed_domains and blocked_domains cannot be combined; leave one out.")
        if desk.search_web is None:
            raise ToolFailed("Web search is not available: it needs the Messages API, which this session lacks.")
        began = time.monotonic()
        results = _results(await desk.search_web(given.query, given.allowed_domains or [], given.blocked_domains or []))
        detail = {"query": given.query, "results": results, "durationSeconds": time.monotonic() - began}
        return Outcome(_summary(given.query, results), detail)


def _results(blocks: list[JsonObject]) -> list[Any]:
    """Lists of results and the texts between them; adjacent texts are joined."""
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


def _summary(query: str, results: list[Any]) -> str:
    parts = [f'Web search results for query: "{query}"']
    for result in results:
        if isinstance(result, str):
            parts.append(result)
        else:
            parts.append(f"Links: {msgspec.json.encode(result['content']).decode()}")
    if len(parts) == 1:
        parts.append("No results found.")
    parts.append("Cite the sources you use, with their URLs.")
    return "\n\n".join(parts)
