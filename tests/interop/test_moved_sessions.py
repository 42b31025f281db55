"""Sessions that the real CLI starts on one machine and resumes on another."""

from __future__ import annotations

from handrail.bridge.cluster.transfer.transcripts import TranscriptSync
from handrail.bridge.store.base import SessionRecord
from handrail.testing import Lab, text
from handrail.transcripts import config_home
from tests.bridge.cluster.jetstream_server import jetstream_server
from tests.interop.scenario import Model, Talk, bash, texts_sent


async def test_session_moves_to_another_machine_and_back(model: Model, talk: Talk, lab: Lab):
    other = {"CLAUDE_CONFIG_DIR": str(lab.root / "other" / ".claude")}
    async with jetstream_server(lab.root) as store:
        one = TranscriptSync(store.js, lambda: [config_home({"HOME": str(lab.home)})], node="one")
        two = TranscriptSync(store.js, lambda: [config_home(other)], node="two")
        async with talk(
            model(bash("seq 3"), text("I will.")), max_turns=3, permission_mode="bypassPermissions"
        ) as begun:
            await begun.ask("remember 42")
        record = SessionRecord(id=begun.id, conversation=begun.id, cwd=str(lab.project), created=0, changed=0)
        await one.upload(record)
        assert await two.fetch(record)
        api = model(text("42"))
        async with talk(api, resume=begun.id, variables=other) as session:
            await session.ask("what was it?")
            assert session.id == begun.id
        assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?"]
        await two.upload(record)
        assert await one.fetch(record)
        api = model(text("43"))
        async with talk(api, resume=begun.id) as session:
            await session.ask("and one more?")
        assert texts_sent(api.main_requests[0]) == ["remember 42", "what was it?", "and one more?"]
