"""What a CLI knows of a session travels: begun on one machine, it goes on on another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from nats.aio.msg import Msg

import handrail
from handrail.agent.models.script import Reply, Script, Text
from handrail.bridge.cluster.link.names import TRANSCRIPTS
from handrail.bridge.cluster.travel import transcripts
from handrail.bridge.cluster.travel.pieces import PIECE
from handrail.bridge.cluster.travel.transcripts import Transcripts, cli_home
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.bridge.session.launch import Cli
from handrail.bridge.store.index_base import SessionRecord
from handrail.testing import ScriptedMessagesApi
from handrail.transcripts import project_name
from tests.bridge.cluster.real_store import Store, real_store
from tests.bridge.stage import AGENT, Clock

SESSION = str(uuid4())
FOLDER = f"projects/{project_name('/work/garden')}"
LINES = [f'{{"line": {n}}}\n'.encode() for n in range(9)]


class Machine:
    """One machine: a home of a CLI, and what keeps its conversations."""

    def __init__(self, home: Path, store: Store, clock: Clock | None = None) -> None:
        self.home = home
        self.transcripts = Transcripts(store.js, lambda: [home], node=home.name, clock=clock or Clock())

    @property
    def file(self) -> Path:
        return self.home / FOLDER / f"{SESSION}.jsonl"

    def other(self, path: str) -> Path:
        return self.home / FOLDER / SESSION / path

    def write(self, data: bytes, path: str = "") -> None:
        file = self.other(path) if path else self.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def add(self, *lines: bytes) -> None:
        with self.file.open("ab") as stream:
            stream.writelines(lines)

    async def keep(self, **fields: Any) -> None:
        await self.transcripts.keep(record(**fields))

    async def fetch(self, **fields: Any) -> bool:
        return await self.transcripts.fetch(record(**fields))


def record(**fields: Any) -> SessionRecord:
    return SessionRecord(**{"id": SESSION, "cwd": "/work/garden", "created": 0, "changed": 0, **fields})


@asynccontextmanager
async def machines(folder: Path, clock: Clock | None = None) -> AsyncGenerator[tuple[Store, Machine, Machine]]:
    async with real_store(folder) as store:
        one, two = Machine(folder / "one", store, clock), Machine(folder / "two", store, clock)
        yield store, one, two
        await one.transcripts.close()
        await two.transcripts.close()


async def put_count(store: Store) -> int:
    """The number of the newest message: it grows with everything that is put."""
    return (await store.js.stream_info(f"OBJ_{TRANSCRIPTS}")).state.last_seq


# A real CLI


async def say(text: str, home: Path, cwd: Path, api: ScriptedMessagesApi, **options: Any) -> None:
    env = {"HOME": str(home), "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
    async with handrail.Session(handrail.Options(cli_path=AGENT, cwd=str(cwd), env=env, **options)) as session:
        turn = await session.send(text)
        await turn.wait()


async def test_a_conversation_begun_on_one_machine_is_resumed_on_another_and_knows_its_past(tmp_path: Path):
    work = tmp_path / "work"
    for folder in (work, tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
    script = Script(replies=(Reply(blocks=(Text("It is a rose."),)),), afterwards=Reply(blocks=(Text("Yes."),)))
    async with real_store(tmp_path) as store, ScriptedMessagesApi(script) as api:
        here = {"HOME": str(tmp_path / "one")}, {"HOME": str(tmp_path / "two")}
        one, two = (
            Transcripts(store.js, lambda env=env: [cli_home(Cli(AGENT, "agent"), env)], node=env["HOME"])
            for env in here
        )
        session = record(cwd=str(work), conversation=SESSION)
        await say("What grows there?", tmp_path / "one", work, api, session_id=SESSION)
        await one.keep(session)
        assert await two.fetch(session)
        await say("Is it red?", tmp_path / "two", work, api, resume=SESSION)
        asked = str((await api.called(2)).body["messages"])
        assert "What grows there?" in asked
        assert "It is a rose." in asked
        await two.keep(session)
        assert await one.fetch(session)
        await say("And now?", tmp_path / "one", work, api, resume=SESSION)
        assert "Is it red?" in str((await api.called(3)).body["messages"])


def test_each_cli_is_given_its_files_where_it_looks_for_them():
    claude, agent = Cli("claude", "claude"), Cli("agent", "agent")
    assert cli_home(claude, {"HOME": "/h"}) == Path("/h/.claude")
    assert cli_home(agent, {"HOME": "/h"}) == Path("/h/.handrail")
    both = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}
    assert cli_home(claude, both) == cli_home(agent, both) == Path("/c")


# Keeping


async def test_all_files_of_a_conversation_travel_and_are_the_owners_alone(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        contents = {
            "": b"".join(LINES),
            "subagents/agent-1.jsonl": LINES[0],
            "subagents/deep/er/agent-2.meta.json": b'{"agentType": "x"}',
            "tool-results/toolu_1.txt": b"x" * (2 * PIECE + 7),
            "tool-results/empty": b"",
        }
        for path, data in contents.items():
            one.write(data, path)
        one.write(b"no", "other/file")
        one.write(b"no", "tool-results/.hidden")
        one.other("subagents/link.jsonl").symlink_to("/etc/passwd")
        await one.keep()
        assert await two.fetch()
        assert {path: (two.other(path) if path else two.file).read_bytes() for path in contents} == contents
        found = [path for path in two.home.rglob("*") if path.is_file()]
        assert len(found) == len(contents)
        assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
        assert {path.stat().st_mode & 0o777 for path in two.home.rglob("*") if path.is_dir()} == {0o700}
        assert not await two.fetch(), "it is all there"


async def test_only_what_is_new_is_sent_and_what_is_replaced_is_removed(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"x" * PIECE + b"\n" + b"".join(LINES))
        await one.keep()
        first = set(await store.subjects(TRANSCRIPTS))
        for line in LINES * 4:
            one.add(line)
            await one.keep()
        then = await store.subjects(TRANSCRIPTS)
        assert len(first & set(then)) == 2, "the manifest's place and the large piece"
        assert len(then) < 10
        assert set(then.values()) == {1}
        before = await put_count(store)
        await one.keep()
        assert await put_count(store) == before, "nothing is new"
        await two.fetch()
        assert two.file.read_bytes() == one.file.read_bytes()


@pytest.mark.parametrize("data", [b"another\n", b"another and longer than it was before\n" * 9])
async def test_what_was_written_anew_is_sent_whole(tmp_path: Path, data: bytes):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.keep()
        one.write(data)
        await one.keep()
        await two.fetch()
        assert two.file.read_bytes() == data
        assert len(await store.subjects(TRANSCRIPTS)) == 2


async def test_a_line_that_is_being_written_is_for_the_next_time(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0] + LINES[1][:5])
        await one.keep()
        await two.fetch()
        assert two.file.read_bytes() == LINES[0]
        one.add(LINES[1][5:])
        await one.keep()
        await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[1]


async def test_those_who_keep_at_once_share_one_sending_and_nothing_written_before_is_missed(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        before = await put_count(store)
        await asyncio.gather(*(one.keep() for _ in range(20)))
        assert await put_count(store) - before == 2
        for line in LINES[1:]:
            running = asyncio.create_task(one.keep())
            await asyncio.sleep(0)  # it has begun
            one.add(line)
            await asyncio.gather(running, one.keep())
        await two.fetch()
        assert two.file.read_bytes() == b"".join(LINES)


async def test_a_sending_that_is_cut_does_not_count_and_is_cleared_away_later(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        await one.keep()
        seen = asyncio.Event()

        async def see(_: Msg) -> None:
            seen.set()

        watching = await store.connection.subscribe(f"$O.{TRANSCRIPTS}.C.{SESSION}.*", cb=see)
        one.add((b"x" * 99 + b"\n") * (PIECE // 10))
        keeping = asyncio.create_task(one.keep())
        await seen.wait()
        while len(await store.subjects(TRANSCRIPTS)) <= 2:  # it is seen before it is stored
            pass
        await one.transcripts.close()
        await keeping
        await one.keep()
        await watching.unsubscribe()
        assert await two.fetch()
        assert two.file.read_bytes() == LINES[0]
        two.add(LINES[1])
        await two.keep()
        assert len(await store.subjects(TRANSCRIPTS)) == 2


async def test_of_a_session_with_very_large_files_only_the_transcript_is_kept_and_that_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(transcripts, "MOST", 1000)
    async with machines(tmp_path) as (_, one, two):
        one.write(b"x" * 1000, "tool-results/a.txt")
        for line in LINES[:3]:
            one.write(line)
            await one.keep()
        assert caplog.text.count("only its transcript") == 1
        await two.fetch()
        assert two.file.read_bytes() == LINES[2]
        assert not two.other("tool-results").exists()
        monkeypatch.setattr(transcripts, "LARGEST", 5)
        await one.keep()
        assert "at most 5 are kept" in caplog.text


async def test_another_conversation_of_the_same_session_takes_the_place_of_the_first(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        one.write(b"x", "tool-results/a.txt")
        await one.keep()
        cleared = str(uuid4())
        file = one.file.with_name(f"{cleared}.jsonl")
        file.write_bytes(LINES[1])
        await one.keep(conversation=cleared)
        assert len(await store.subjects(TRANSCRIPTS)) == 2
        assert not await two.fetch(), "the first is there no more"
        assert await two.fetch(conversation=cleared)
        assert two.file.with_name(f"{cleared}.jsonl").read_bytes() == LINES[1]


async def test_without_nats_keeping_does_not_fail_and_is_complained_of_once_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock = Clock()
    async with machines(tmp_path, clock) as (store, one, two):
        one.write(LINES[0])
        await one.keep()
        await store.kill()
        one.add(LINES[1])
        for _ in range(2):
            await one.keep()
        assert caplog.text.count("was not kept") == 1
        clock.now += transcripts.QUIET
        await one.keep()
        assert caplog.text.count("was not kept") == 2
        with pytest.raises(ClusterAway, match="does not answer"):
            await two.fetch()
        await store.start()
        while not await kept_again(one, two):
            pass
        assert two.file.read_bytes() == LINES[0] + LINES[1]


async def kept_again(one: Machine, two: Machine) -> bool:
    await one.keep()
    try:
        await two.fetch()
    except ClusterAway:  # the connection comes back in its own time
        return False
    return two.file.read_bytes().endswith(LINES[1])


async def test_nothing_is_kept_of_what_is_not_there_or_has_no_proper_name(tmp_path: Path):
    async with machines(tmp_path) as (store, one, _):
        await one.keep()
        one.write(LINES[0])
        for fields in ({"id": "a.>", "conversation": SESSION}, {"conversation": "../../x"}, {"cwd": "/a\0b"}):
            await one.keep(**fields)
        assert await store.subjects(TRANSCRIPTS) == {}


async def test_what_is_forgotten_is_gone_and_can_be_kept_anew(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.keep()
        await one.transcripts.forget(SESSION)
        await one.transcripts.forget("a.>")
        assert await store.subjects(TRANSCRIPTS) == {}
        assert not await two.fetch()
        await one.keep()
        assert await two.fetch()


# Between machines


async def test_a_machine_that_was_overtaken_replaces_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        await one.keep()
        await two.fetch()
        two.add(LINES[2])
        await two.keep()
        there = await store.subjects(TRANSCRIPTS)
        one.add(LINES[1])
        await one.keep()
        assert "another machine (two)" in caplog.text
        before = await put_count(store)
        await one.keep()
        assert await put_count(store) == before, "it does not try again"
        assert await store.subjects(TRANSCRIPTS) == there
        one.transcripts.release(SESSION)
        await one.keep()
        assert await store.subjects(TRANSCRIPTS) == there, "what another has kept is fetched first"
        assert await one.fetch()
        one.add(LINES[3])
        await one.keep()
        assert await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[2] + LINES[3]


async def test_a_machine_that_did_not_hear_that_its_own_manifest_was_taken_goes_on(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        await one.keep()
        earlier_life = Machine(one.home, store)
        one.add(LINES[1])
        await earlier_life.keep()
        one.add(LINES[2])
        await one.keep()
        await two.fetch()
        assert two.file.read_bytes() == b"".join(LINES[:3])
        assert len(await store.subjects(TRANSCRIPTS)) == 3, "the manifest and two pieces"


async def test_where_this_machine_has_more_it_stays(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        await one.keep()
        two.write(LINES[0] + LINES[1])
        assert not await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[1]


@pytest.mark.parametrize("lines", [LINES[5:6], LINES[5:8], [LINES[0], LINES[5], LINES[1]]])
async def test_lines_that_only_this_machine_has_are_kept_beside(
    tmp_path: Path, lines: list[bytes], caplog: pytest.LogCaptureFixture
):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0] + LINES[1])
        one.write(b"new", "subagents/agent-1.meta.json")
        await one.keep()
        two.write(b"".join(lines))
        two.write(b"older", "subagents/agent-1.meta.json")
        assert await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[1]
        assert two.other("subagents/agent-1.meta.json").read_bytes() == b"new"
        (aside,) = two.home.rglob("*.aside")
        assert aside.read_bytes() == b"".join(lines)
        assert aside.name in caplog.text


async def test_what_the_cli_wrote_anew_on_the_machine_that_kept_it_last_stays(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.keep()
        for data in (b"shorter\n", b"longer than it was\n" * 99):
            one.write(data)
            assert not await Machine(one.home, store).fetch()
            assert one.file.read_bytes() == data
        one.file.unlink()
        again = Machine(one.home, store)
        assert await again.fetch()
        await again.keep()
        await two.fetch()
        assert two.file.read_bytes() == b"".join(LINES)


async def test_a_branch_begins_elsewhere_with_what_its_origin_knows(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        await one.keep()
        branch = {"id": str(uuid4()), "forked_from": SESSION, "options": {"origin": SESSION}}
        assert await two.fetch(**branch)
        assert two.file.read_bytes() == LINES[0]
        assert not await two.fetch(**branch, conversation=str(uuid4())), "it has begun: it has its own"


# Hostile


async def test_a_link_that_stands_in_the_way_is_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        one.write(b"x", "tool-results/a.txt")
        await one.keep()
        two.other("").mkdir(parents=True)
        two.other("tool-results").symlink_to(outside)
        with pytest.raises(ClusterRefused, match="could not be brought here"):
            await two.fetch()
        two.other("tool-results").unlink()
        two.file.symlink_to(outside / "file")
        with pytest.raises(ClusterRefused, match="could not be brought here"):
            await two.fetch()
        assert list(outside.iterdir()) == []
        assert list(two.home.rglob("*.unfinished")) == []


async def test_a_manifest_that_leads_elsewhere_or_a_piece_that_is_another_writes_nothing(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.keep()
        (piece,) = [name for name in await store.subjects(TRANSCRIPTS) if "." in name]
        prefix = f"$O.{TRANSCRIPTS}.C"
        raw = (await store.js.get_last_msg(f"OBJ_{TRANSCRIPTS}", f"{prefix}.{SESSION}")).data or b""
        size = sum(map(len, LINES))
        for hostile in (raw.replace(b'["",', b'["../../../x",'), raw.replace(b'["",', b'["/etc/x",'), b"", b"{}"):
            await store.js.publish(f"{prefix}.{SESSION}", hostile)
            await Machine(one.home, store).keep()  # and the machine whose it is says so, and goes on
            with pytest.raises(ClusterRefused, match="cannot be used"):
                await two.fetch()
        await store.js.publish(f"{prefix}.{SESSION}", raw)
        for wrong in (b"y" * size, b"y"):
            await store.js.publish(f"{prefix}.{piece}", wrong)
            with pytest.raises(ClusterRefused, match="not what"):
                await two.fetch()
        await store.js.purge_stream(f"OBJ_{TRANSCRIPTS}", subject=f"{prefix}.{piece}")
        with pytest.raises(ClusterRefused, match="missing"):
            await two.fetch()
        assert [path for path in two.home.rglob("*") if path.is_file()] == []


async def test_a_record_of_another_machine_leads_nowhere_else(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        await one.keep()
        for conversation in ("../../x", "*", "a/b"):
            with pytest.raises(ClusterRefused, match="UUID"):
                await two.fetch(conversation=conversation)
        assert not await two.fetch(id="a.>")
        assert await two.fetch(cwd="/../../etc")
        assert {path.parent.parent for path in two.home.rglob("*.jsonl")} == {two.home / "projects"}
