"""Sessions on disk: resume, fork, continue, ids, transcripts."""

from __future__ import annotations

import json

from handrail.agent.models.script import text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal
from handrail.conform.lines import kinds, of_type, sent_text

OWN = "7a1f5c1e-1111-4222-8333-444455556666"
SAID = "the word is marzipan"


async def _first_run(bench: Bench, *flags: str) -> str:
    """Run a session to its end and return its id."""
    bench.says(text("Noted."))
    agent = await bench.start(*flags)
    result = (await agent.turn(SAID))[-1]
    expect_equal("exit code of the first run", await agent.end(), 0)
    return result["session_id"]


async def _second_run(bench: Bench, *flags: str) -> str:
    """Run one more turn, which must have the history, and return its session id."""
    bench.says(text("Marzipan."))
    agent = await bench.start(*flags)
    result = (await agent.turn("what is the word?"))[-1]
    expect_equal("exit code", await agent.end(), 0)
    expect(SAID in sent_text(bench.model.main_requests[0].body), "the request to the model lacks the earlier turn")
    return result["session_id"]


@check("session", "--resume continues the same session, and the model gets its history.")
async def resume(bench: Bench) -> None:
    session = await _first_run(bench)
    expect_equal("session_id", await _second_run(bench, "--resume", session), session)


@check("session", "A resumed session does not write its history again.")
async def resume_without_replay(bench: Bench) -> None:
    session = await _first_run(bench)
    bench.says(text("Yes."))
    lines = await (await bench.start("--resume", session)).turn("well?")
    expect_equal("assistant lines", len(of_type(lines, "assistant")), 1)
    expect(SAID not in json.dumps(lines), "the earlier prompt was written again")


@check("session", "total_cost_usd of a resumed session includes its earlier cost.")
async def resume_continues_the_cost(bench: Bench) -> None:
    bench.says(text("Noted."))
    agent = await bench.start()
    first = (await agent.turn("hello"))[-1]
    await agent.end()
    bench.says(text("Yes."))
    second = (await (await bench.start("--resume", first["session_id"])).turn("well?"))[-1]
    expect(second["total_cost_usd"] > first["total_cost_usd"] > 0, "the cost does not include the earlier run")


@check("session", "--fork-session copies the history to a session with a new id.")
async def fork(bench: Bench) -> None:
    session = await _first_run(bench)
    forked = await _second_run(bench, "--resume", session, "--fork-session")
    expect(forked != session, "the fork has the same id")


@check("session", "--continue resumes the latest session of the project.")
async def continue_latest(bench: Bench) -> None:
    session = await _first_run(bench)
    expect_equal("session_id", await _second_run(bench, "--continue"), session)


@check("session", "--continue starts a new session if the project does not have one.")
async def continue_without_a_session(bench: Bench) -> None:
    bench.says(text("Fine."))
    expect_equal("result", (await (await bench.start("--continue")).turn("hello"))[-1].get("result"), "Fine.")


@check("session", "--session-id sets the session id.")
async def given_id(bench: Bench) -> None:
    expect_equal("session_id", await _first_run(bench, "--session-id", OWN), OWN)


@check("session", "A session id that is in use is refused with exit code 1 and an error on stderr.")
async def id_in_use(bench: Bench) -> None:
    await _first_run(bench, "--session-id", OWN)
    agent = await bench.start("--session-id", OWN)
    expect_equal("exit code", await agent.end(), 1)
    expect(agent.stderr.strip(), "stderr is empty")


@check(
    "session",
    "A session id that is not a UUID is refused with exit code 1, an error on stderr and no output on stdout.",
)
async def invalid_id(bench: Bench) -> None:
    agent = await bench.start("--session-id", "tuesday")
    expect_equal("exit code", await agent.end(), 1)
    expect_equal("lines on stdout", kinds(agent.lines), "nothing")
    expect(agent.stderr.strip(), "stderr is empty")


@check("session", "Resuming an unknown session gives a result with errors and exit code 1.")
async def unknown(bench: Bench) -> None:
    agent = await bench.start("--resume", OWN)
    await agent.prompt("hello")
    code = await agent.end()
    expect_equal("exit code", code, 1)
    results = of_type(agent.lines, "result")
    expect_equal("results", [line.get("subtype") for line in results], ["error_during_execution"])
    expect(OWN in str(results[0].get("errors")), f"errors: {results[0].get('errors')}")


@check(
    "session",
    "The transcript is projects/FOLDER/SESSION.jsonl with mode 0600, and its entries are linked by parentUuid.",
)
async def transcript(bench: Bench) -> None:
    session = await _first_run(bench)
    found = list((bench.lab.home / ".claude" / "projects").glob(f"*/{session}.jsonl"))
    expect_equal("transcript files", len(found), 1)
    expect_equal("file mode", oct(found[0].stat().st_mode & 0o777), "0o600")
    entries = [json.loads(line) for line in found[0].read_text().splitlines()]
    chained = [entry for entry in entries if entry.get("type") in ("user", "assistant")]
    expect_equal("types", [entry["type"] for entry in chained], ["user", "assistant"])
    known = {entry.get("uuid") for entry in entries}
    expect(all(entry.get("parentUuid") in known | {None} for entry in chained), "a parentUuid does not match any entry")


@check("session", "With --no-session-persistence no transcript is written.")
async def no_persistence(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start("--no-session-persistence")
    session = (await agent.turn("hello"))[-1]["session_id"]
    await agent.end()
    expect_equal("transcript files", [path.name for path in bench.lab.home.rglob(f"{session}.jsonl")], [])
