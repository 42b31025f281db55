"""Requests to the Messages API: each begins with the one before, so the API finds it in its cache."""

from __future__ import annotations

from itertools import pairwise

from handrail.conform.request_facts import keeps_prefix, request_facts
from handrail.testing import Lab, text, tool_use
from tests.contract.conftest import TalkToApi


async def test_an_ordinary_session_keeps_its_prefix(talk_to_api: TalkToApi, lab: Lab):
    (lab.project / "CLAUDE.md").write_text("Use tabs.")
    (lab.project / "sub").mkdir()
    (lab.project / "sub" / "CLAUDE.md").write_text("Use spaces here.")
    (lab.project / "sub" / "a.txt").write_text("one\n")
    path = str(lab.project / "sub" / "a.txt")
    replies = [
        [tool_use("Read", file_path=path), tool_use("Bash", command="ls")],
        tool_use("Edit", file_path=path, old_string="one", new_string="two"),
        text("changed"),
        tool_use("Bash", command="cat sub/a.txt"),
        text("shown"),
        text("planned"),
        text("built"),
    ]
    async with talk_to_api(*replies, can_use_tool=lambda _: True) as (session, api):
        await session.ask("change it")
        await session.ask("show it, see @sub/a.txt")
        await session.set_permission_mode("plan")
        await session.ask("plan more")
        await session.set_permission_mode("default")
        await session.ask("go on")
        requests = api.main_requests
    assert len(requests) == 7
    assert all(keeps_prefix(before.body, after.body) for before, after in pairwise(requests))
    assert all(sum(request_facts(request).marks) <= 4 for request in requests)
    assert request_facts(requests[-1]).marks == (2, 0, 2)


async def test_a_changed_beginning_is_noticed(talk_to_api: TalkToApi):
    async with talk_to_api() as (session, api):
        await session.ask("one")
        await session.ask("two")
        first, second = (request.body for request in api.main_requests)
    assert keeps_prefix(first, second)
    assert not keeps_prefix(second, first)
    changed = {**second, "system": [{"type": "text", "text": "other"}]}
    assert not keeps_prefix(first, changed)
