"""The model's API fails: what is tried again, what is told, and what the turn ends with."""

from __future__ import annotations

from handrail.agent.models.script import When, cut, http_error, reply, text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same, typed
from handrail.conform.lines import of, told


@check("api", "An overloaded API is asked again, each time told as system/api_retry; the turn then succeeds.")
async def retried(bench: Bench) -> None:
    bench.says(http_error(529), text("There you are."))
    lines = await (await bench.start()).turn("hello")
    retries = of(lines, "system", "api_retry")
    same("system/api_retry lines", len(retries), 1)
    typed(retries[0], {"attempt": int, "max_retries": int, "retry_delay_ms": (int, float), "error_status": int}, "it")
    same("attempt and status", (retries[0]["attempt"], retries[0]["error_status"]), (1, 529))
    same("the result", lines[-1].get("result"), "There you are.")


@check("api", "retry-after is heeded: the delay that is told is no shorter.")
async def retry_after(bench: Bench) -> None:
    bench.says(http_error(429, headers={"retry-after": "1"}), text("There you are."))
    lines = await (await bench.start()).turn("hello")
    retries = of(lines, "system", "api_retry")
    expect(retries and retries[0]["retry_delay_ms"] >= 1000, f"the delays are {[r['retry_delay_ms'] for r in retries]}")


@check("api", "When all tries fail: an assistant line with error, a result with is_error, api_error and the status.")
async def given_up(bench: Bench) -> None:
    bench.says(afterwards=http_error(529))
    lines = await (await bench.start(env={"CLAUDE_CODE_MAX_RETRIES": "1"})).turn("hello")
    last = of(lines, "assistant")[-1]
    expect(last.get("error") in ("overloaded", "server_error"), f"its error is {last.get('error')!r}")
    result = lines[-1]
    seen = (
        result.get("subtype"),
        result.get("is_error"),
        result.get("terminal_reason"),
        result.get("api_error_status"),
    )
    same("the result", seen, ("success", True, "api_error", 529))
    same("the text of the result", result.get("result"), told([last]))


@check("api", "A request that the API calls invalid is not told as a retry; the error reaches the result.")
async def invalid_request(bench: Bench) -> None:
    bench.says(afterwards=http_error(400, message="the sky is falling"))
    lines = await (await bench.start()).turn("hello")
    same("system/api_retry lines", len(of(lines, "system", "api_retry")), 0)
    same("is_error and status", (lines[-1].get("is_error"), lines[-1].get("api_error_status")), (True, 400))
    expect("the sky is falling" in str(lines[-1].get("result")), f"the result is {lines[-1].get('result')!r}")


@check("api", "After an error the session takes the next prompt.")
async def lives_on(bench: Bench) -> None:
    bench.says(reply(text("Better."), when=When(prompt="once more")), afterwards=http_error(400))
    agent = await bench.start()
    same("is_error", (await agent.turn("hello"))[-1].get("is_error"), True)
    same("the next result", (await agent.turn("once more"))[-1].get("result"), "Better.")


@check("api", "A stream that breaks off in the middle of a block is asked for again, and told as system/api_retry.")
async def broken_stream(bench: Bench) -> None:
    bench.says([text("Half a sen", unfinished=True), cut(broken=True)], text("A whole sentence."))
    lines = await (await bench.start()).turn("hello")
    same("the result", lines[-1].get("result"), "A whole sentence.")
    same("system/api_retry lines", len(of(lines, "system", "api_retry")), 1)


@check("api", "A model that stops at max_tokens is asked to go on.")
async def max_tokens(bench: Bench) -> None:
    bench.says(reply(text("The first half"), stop_reason="max_tokens"), text("and the second."))
    lines = await (await bench.start()).turn("hello")
    same("requests to the model", len(bench.model.main_requests), 2)
    same("the result", lines[-1].get("result"), "and the second.")


@check("api", "--fallback-model takes over after repeated overload, told as system/model_fallback.")
async def fallback(bench: Bench) -> None:
    bench.says(
        http_error(529), http_error(529), http_error(529), text("I stand in."), afterwards=reply(text("I stand in."))
    )
    agent = await bench.start("--model", "claude-opus-4-5", "--fallback-model", "claude-sonnet-4-5")
    lines = await agent.turn("hello")
    same("system/model_fallback lines", len(of(lines, "system", "model_fallback")), 1)
    same("the last model asked", bench.model.main_requests[-1].body["model"], "claude-sonnet-4-5")
    same("the result", lines[-1].get("result"), "I stand in.")
