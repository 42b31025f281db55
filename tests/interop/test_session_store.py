"""Session stores with the real CLI and with handrail-agent, and the official SDK with Handrail's stores."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail import Options, Session
from handrail.session_store import (
    InMemorySessionStore,
    PostgresSessionStore,
    SqliteSessionStore,
    list_subagents,
    project_key_for_directory,
    read_session,
)
from handrail.testing import Endpoint, Lab, text, tool_use
from tests.interop.scenario import LIMIT, Model, texts_sent
from tests.session_store.postgres_server import postgres_server

HERE = Path(__file__).parent
AGENT = Path(sys.executable).parent / "handrail-agent"
SDK = os.environ.get("HANDRAIL_PYTHON_SDK", "")
PATHS = f"{Path(handrail.__file__).parents[1]}:{sysconfig.get_path('purelib')}"
LOCAL = ("api-request", "api-request-blob", "api-request-shape")
"""Lines that the CLI writes to its file and does not mirror."""
TASK = tool_use("Task", description="Look", prompt="look", subagent_type="general-purpose", run_in_background=False)


@pytest.fixture(params=["claude", "handrail-agent"])
def program(request: pytest.FixtureRequest, cli: Path) -> Path:
    return cli if request.param == "claude" else AGENT


def options(lab: Lab, endpoint: Endpoint, program: Path, project: Path, store: Any, **more: Any) -> Options:
    tools = ["Task", "Agent", "Bash"]
    env = lab.environment(endpoint)
    return Options(cli_path=program, cwd=project, env=env, session_store=store, allowed_tools=tools, **more)


async def ask(prompt: str, given: Options) -> Session:
    async with asyncio.timeout(LIMIT), Session(given) as session:
        await session.ask(prompt)
    return session


@pytest.fixture
def elsewhere(tmp_path: Path) -> Lab:
    """Another machine: it has the project, but not the home of the first."""
    return Lab(tmp_path / "elsewhere")


async def test_stored_session_is_resumed_continued_and_forked_elsewhere(
    lab: Lab, elsewhere: Lab, model: Model, program: Path
):
    async with SqliteSessionStore(lab.root / "sessions.db") as store:
        api = model(TASK, text("a mouse"), text("I will."))
        first = await ask("remember 42", options(lab, api, program, lab.project, store))
        assert len(await list_subagents(store, first.id, lab.project)) == 1

        api = model(text("It was 42."))
        second = await ask("what?", options(elsewhere, api, program, lab.project, store, resume=first.id))
        assert second.id == first.id
        assert texts_sent(api.main_requests[0]) == ["remember 42", "what?"]

        api = model(text("Still 42."))
        third = await ask("and?", options(elsewhere, api, program, lab.project, store, continue_conversation=True))
        assert third.id == first.id
        assert texts_sent(api.main_requests[0]) == ["remember 42", "what?", "and?"]

        api = model(text("Forked."))
        more = {"resume": first.id, "fork_session": True}
        fork = await ask("fork", options(elsewhere, api, program, lab.project, store, **more))
        assert fork.id not in ("", first.id)
        said = [entry.text() for entry in await read_session(store, fork.id, lab.project) if entry.text()]
        assert said == ["remember 42", "I will.", "what?", "It was 42.", "and?", "Still 42.", "fork", "Forked."]
        assert not list((elsewhere.home / ".claude").glob("projects/*/*.jsonl"))


async def test_store_has_every_line_of_every_transcript(lab: Lab, model: Model, program: Path):
    store = InMemorySessionStore()
    api = model(tool_use("Bash", command="echo hi"), TASK, text("a mouse"), text("Done."), text("Bye."))
    async with asyncio.timeout(LIMIT), Session(options(lab, api, program, lab.project, store)) as session:
        await session.ask("go")
        await session.control("rename_session", title="A name")
        await session.ask("again")
    [project] = (lab.home / ".claude" / "projects").iterdir()
    files = sorted(project.rglob("*.jsonl"))
    assert len(files) == 2
    for path in files:
        key: Any = {"project_key": project.name, "session_id": session.id}
        if path.stem != session.id:
            key["subpath"] = path.relative_to(project / session.id).with_suffix("").as_posix()
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        stored = [entry for entry in store.get_entries(key) if entry["type"] != "agent_metadata"]
        assert [*map(json.dumps, stored)] == [json.dumps(line) for line in lines if line["type"] not in LOCAL]
        about = [entry for entry in store.get_entries(key) if entry["type"] == "agent_metadata"]
        if "subpath" in key:
            meta = json.loads(path.with_suffix(".meta.json").read_text())
            assert {**about[-1]} == {"type": "agent_metadata", **meta}


async def test_agent_mirrors_the_same_conversation_as_the_cli(lab: Lab, model: Model, cli: Path, tmp_path: Path):
    shapes: list[Any] = []
    for number, program in enumerate((cli, AGENT)):
        place, store = Lab(tmp_path / str(number)), InMemorySessionStore()
        api = model(tool_use("Bash", command="echo hi"), TASK, text("a mouse"), text("Done."))
        session = await ask("go", options(place, api, program, place.project, store))
        project = project_key_for_directory(place.project)
        key: Any = {"project_key": project, "session_id": session.id}
        [subkey] = await store.list_subkeys(key)
        shapes.append([_spoken(store, key), _spoken(store, {**key, "subpath": subkey}), subkey.split("-")[0]])
    assert shapes[0] == shapes[1]


def _spoken(store: InMemorySessionStore, key: Any) -> list[tuple[str, list[str]]]:
    """The messages of a transcript: their types, and those of their blocks."""
    found: list[tuple[str, list[str]]] = []
    for entry in store.get_entries(key):
        content = entry.get("message", {}).get("content")  # type: ignore[attr-defined]
        if entry["type"] in ("user", "assistant") and not entry.get("isMeta"):
            kinds = ["text"] if isinstance(content, str) else [block["type"] for block in content]
            found.append((entry["type"], kinds))
    return found


# The official SDK


async def official(lab: Lab, endpoint: Endpoint | None, what: str, *arguments: str) -> Any:
    if not os.access(SDK, os.X_OK):
        pytest.fail(f"HANDRAIL_PYTHON_SDK names no program ({SDK!r}): run `make interop`", pytrace=False)
    child = await asyncio.create_subprocess_exec(
        *(SDK, "-B", str(HERE / "official_session_store.py"), PATHS, what, *arguments),
        cwd=lab.project,
        env=lab.environment(endpoint),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT):
        output, _ = await child.communicate()
    assert child.returncode == 0
    return json.loads(output)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_store_passes_the_suite_of_the_official_sdk(kind: str, lab: Lab):
    assert await official(lab, None, "conform", kind, str(lab.root)) == "passed"


async def test_postgres_store_passes_the_suite_of_the_official_sdk(lab: Lab):
    with postgres_server() as dsn:
        assert await official(lab, None, "conform", "postgres", dsn) == "passed"


async def test_session_in_postgres_is_resumed_elsewhere(lab: Lab, elsewhere: Lab, model: Model, cli: Path):
    with postgres_server() as dsn:
        async with PostgresSessionStore(dsn) as store:
            first = await ask("remember 42", options(lab, model(text("I will.")), cli, lab.project, store))
        async with PostgresSessionStore(dsn) as store:
            api = model(text("It was 42."))
            await ask("what?", options(elsewhere, api, cli, lab.project, store, resume=first.id))
            assert texts_sent(api.main_requests[0]) == ["remember 42", "what?"]


async def test_official_sdk_and_handrail_resume_each_other(lab: Lab, elsewhere: Lab, model: Model, cli: Path):
    database = str(lab.root / "sessions.db")
    first, _ = await official(lab, model(text("I will.")), "ask", database, str(cli), "remember 42", "")
    async with SqliteSessionStore(database) as store:
        api = model(text("It was 42."))
        await ask("what?", options(elsewhere, api, cli, lab.project, store, resume=first))
        assert texts_sent(api.main_requests[0]) == ["remember 42", "what?"]
    third = Lab(elsewhere.root / "third")
    third.project = lab.project
    api = model(text("Still."))
    assert await official(third, api, "ask", database, str(cli), "and?", first) == [first, "Still."]
    assert texts_sent(api.main_requests[0]) == ["remember 42", "what?", "and?"]


@pytest.mark.parametrize(
    "entries",
    [
        [{"type": "mode"}, {"type": "user", "message": {"content": " first\nprompt "}, "cwd": "/a", "gitBranch": "x"}],
        [
            {
                "type": "user",
                "isSidechain": True,
                "timestamp": "2026-01-01T00:00:00.5Z",
                "message": {"content": "y" * 300},
            }
        ],
        [{"type": "tag", "tag": "t"}, {"type": "tag", "tag": ""}, {"type": "summary", "summary": "s"}],
        [
            {"type": "ai-title", "aiTitle": "a"},
            {"type": "custom-title", "customTitle": ""},
            {"type": "user", "cwd": ""},
        ],
        [
            {"type": "user", "message": {"content": "<command-name>/clear</command-name>"}},
            {"type": "user", "isMeta": True, "message": {"content": "meta"}},
            {"type": "user", "message": {"content": [{"type": "tool_result"}, {"type": "text", "text": "no"}]}},
            {"type": "user", "message": {"content": [{"type": "text", "text": "yes"}]}},
            {"type": "last-prompt", "lastPrompt": "p", "timestamp": "nonsense"},
        ],
    ],
)
async def test_summary_is_that_of_the_official_sdk(entries: list[Any], lab: Lab):
    ours, theirs = await official(lab, None, "fold", json.dumps(entries))
    assert ours == theirs
