"""The WebSearch tool."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.agent.tools.base import ToolFailed
from tests.agent.tools.workplace import call, desk_in


async def test_results_and_texts_are_shown_in_order(tmp_path: Path):
    async def search(query: str, allowed: list[str], blocked: list[str]) -> list[dict[str, Any]]:
        hit = {
            "type": "web_search_result",
            "title": f"About {query}",
            "url": "https://x.example/",
            "page_age": "",
        }
        return [
            {"type": "server_tool_use", "id": "s1"},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [hit]},
            {"type": "text", "text": "It is "},
            {"type": "text", "text": "so."},
            {"type": "web_search_tool_result", "content": {"error_code": "max_uses_exceeded"}},
        ]

    desk = desk_in(tmp_path)
    desk.search_web = search
    outcome = await call(desk, "WebSearch", query="owls")
    hits = {"tool_use_id": "s1", "content": [{"title": "About owls", "url": "https://x.example/"}]}
    assert outcome.detail["results"] == [hits, "It is so.", "Web search error: max_uses_exceeded"]
    assert outcome.detail["query"] == "owls"
    assert 'Links: [{"title":"About owls","url":"https://x.example/"}]\n\nIt is so.' in outcome.content


async def test_search_needs_the_messages_api(tmp_path: Path):
    with pytest.raises(ToolFailed, match="Messages API"):
        await call(desk_in(tmp_path), "WebSearch", query="owls")


async def test_short_queries_and_both_domain_lists_are_refused(tmp_path: Path):
    with pytest.raises(msgspec.ValidationError):
        await call(desk_in(tmp_path), "WebSearch", query="o")
    both = {"allowed_domains": ["a"], "blocked_domains": ["b"]}
    assert (await call(desk_in(tmp_path), "WebSearch", query="owls", **both)).is_error
