"""Sessions on disk: resume, fork, continue, ids, and what is refused."""

from __future__ import annotations

import json

from handrail.agent.models.script import text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same
from handrail.conform.lines import kinds, of, sent_text

OWN = "7a1f5c1e-1111-4222-8333-444455556666"
SAID = "the word is marzipan"


async def _earlier(bench: Bench, *flags: str) -> str:
    """A session that has ended. Out: its id."""
    bench.says(text("Noted."))
    agent = await bench.start(*flags)
    result = (await agent.turn(SAID))[-1]
    same("the exit code of the first run", await agent.end(), 0)
    return result["session_id"]


async def _later(bench: Bench, *flags: str) -> str:
    """One more turn that must know what was said. Out: its session id."""
    bench.says(text("Marzipan."))
    agent = await bench.start(*flags)
    result = (await agent.turn("what is the word?"))[-1]
    same("the exit code", await agent.end(), 0)
    expect(SAID in sent_text(bench.model.main_requests[0].body), "the model was not sent the earlier turn")
    return result["session_id"]


@check("session", "--resume goes on in the same session, and the model knows what was said.")
async def resume(bench: Bench) -> None:
    session = await _earlier(bench)
    same("the session_id", await _later(bench, "--resume", session), session)


@check("session", "A resumed session does not tell its history again.")
async def resume_tells_no_history(bench: Bench) -> None:
    session = await _earlier(bench)
    bench.says(text("Yes."))
    lines = await (await bench.start("--resume", session)).turn("well?")
    same("assistant lines", len(of(lines, "assistant")), 1)
    expect(SAID not in json.dumps(lines), "the old prompt was told again")


@check("session", "The cost of a resumed session goes on from what it was.")
async def resume_continues_the_cost(bench: Bench) -> None:
    bench.says(text("Noted."))
    agent = await bench.start()
    first = (await agent.turn("hello"))[-1]
    await agent.end()
    bench.says(text("Yes."))
    second = (await (await bench.start("--resume", first["session_id"])).turn("well?"))[-1]
    expect(second["total_cost_usd"] > first["total_cost_usd"] > 0, "it began anew")


@check("session", "--fork-session knows what was said, under a new id.")
async def fork(bench: Bench) -> None:
    session = await _earlier(bench)
    forked = await _later(bench, "--resume", session, "--fork-session")
    expect(forked != session, "it kept the id")


@check("session", "--continue goes on in the latest session of the folder.")
async def continues(bench: Bench) -> None:
    session = await _earlier(bench)
    same("the session_id", await _later(bench, "--continue"), session)


@check("session", "--continue where there is no session begins one.")
async def continue_from_nothing(bench: Bench) -> None:
    bench.says(text("Fine."))
    same("the result", (await (await bench.start("--continue")).turn("hello"))[-1].get("result"), "Fine.")


@check("session", "--session-id gives the session its id.")
async def own_id(bench: Bench) -> None:
    same("the session_id", await _earlier(bench, "--session-id", OWN), OWN)


@check("session", "An id that is in use is refused: exit 1, words on stderr.")
async def id_in_use(bench: Bench) -> None:
    await _earlier(bench, "--session-id", OWN)
    agent = await bench.start("--session-id", OWN)
    same("the exit code", await agent.end(), 1)
    expect(agent.errors.strip(), "nothing was said on stderr")


@check("session", "An id that is no UUID is refused: exit 1, words on stderr, nothing on stdout.")
async def id_that_is_none(bench: Bench) -> None:
    agent = await bench.start("--session-id", "tuesday")
    same("the exit code", await agent.end(), 1)
    same("lines on stdout", kinds(agent.lines), "nothing")
    expect(agent.errors.strip(), "nothing was said on stderr")


@check("session", "Resuming a session that is not there: a result with errors, and exit 1.")
async def unknown(bench: Bench) -> None:
    agent = await bench.start("--resume", OWN)
    await agent.prompt("hello")
    code = await agent.end()
    same("the exit code", code, 1)
    results = of(agent.lines, "result")
    same("the results", [line.get("subtype") for line in results], ["error_during_execution"])
    expect(OWN in str(results[0].get("errors")), f"its errors are {results[0].get('errors')}")


@check("session", "The transcript is projects/FOLDER/SESSION.jsonl, only its owner's, chained by uuid and parentUuid.")
async def transcript(bench: Bench) -> None:
    session = await _earlier(bench)
    found = list((bench.lab.home / ".claude" / "projects").glob(f"*/{session}.jsonl"))
    same("files", len(found), 1)
    same("its mode", oct(found[0].stat().st_mode & 0o777), "0o600")
    entries = [json.loads(line) for line in found[0].read_text().splitlines()]
    chained = [entry for entry in entries if entry.get("type") in ("user", "assistant")]
    same("the types", [entry["type"] for entry in chained], ["user", "assistant"])
    known = {entry.get("uuid") for entry in entries}
    expect(all(entry.get("parentUuid") in known | {None} for entry in chained), "the chain is broken")


@check("session", "--no-session-persistence leaves no transcript.")
async def not_kept(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start("--no-session-persistence")
    session = (await agent.turn("hello"))[-1]["session_id"]
    await agent.end()
    same("files", [path.name for path in bench.lab.home.rglob(f"{session}.jsonl")], [])
