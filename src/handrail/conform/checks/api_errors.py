"""Errors of the model API: retries, fallback, and the result of the turn."""

from __future__ import annotations

from handrail.agent.models.script import When, cut, http_error, reply, text
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal, expect_fields
from handrail.conform.lines import of_type, text_of


@check("api", "A request that fails with an overload is retried, and each retry is reported as system/api_retry.")
async def retried(bench: Bench) -> None:
    bench.says(http_error(529), text("There you are."))
    lines = await (await bench.start()).turn("hello")
    retries = of_type(lines, "system", "api_retry")
    expect_equal("system/api_retry lines", len(retries), 1)
    expect_fields(
        retries[0],
        {"attempt": int, "max_retries": int, "retry_delay_ms": (int, float), "error_status": int},
        "api_retry",
    )
    expect_equal("attempt and status", (retries[0]["attempt"], retries[0]["error_status"]), (1, 529))
    expect_equal("result", lines[-1].get("result"), "There you are.")


@check("api", "The retry delay is at least as long as retry-after.")
async def retry_after(bench: Bench) -> None:
    bench.says(http_error(429, headers={"retry-after": "1"}), text("There you are."))
    lines = await (await bench.start()).turn("hello")
    retries = of_type(lines, "system", "api_retry")
    expect(retries and retries[0]["retry_delay_ms"] >= 1000, f"delays: {[r['retry_delay_ms'] for r in retries]}")


@check(
    "api", "If all retries fail, an assistant line has the error and the result has is_error, api_error and the status."
)
async def retries_exhausted(bench: Bench) -> None:
    bench.says(afterwards=http_error(529))
    lines = await (await bench.start(env={"CLAUDE_CODE_MAX_RETRIES": "1"})).turn("hello")
    last = of_type(lines, "assistant")[-1]
    expect(last.get("error") in ("overloaded", "server_error"), f"error: {last.get('error')!r}")
    result = lines[-1]
    seen = (
        result.get("subtype"),
        result.get("is_error"),
        result.get("terminal_reason"),
        result.get("api_error_status"),
    )
    expect_equal("result", seen, ("success", True, "api_error", 529))
    expect_equal("text of the result", result.get("result"), text_of([last]))


@check(
    "api", "A request that the API rejects as invalid is not reported as a retry, and the result contains the error."
)
async def invalid_request(bench: Bench) -> None:
    bench.says(afterwards=http_error(400, message="the sky is falling"))
    lines = await (await bench.start()).turn("hello")
    expect_equal("system/api_retry lines", len(of_type(lines, "system", "api_retry")), 0)
    expect_equal("is_error and status", (lines[-1].get("is_error"), lines[-1].get("api_error_status")), (True, 400))
    expect("the sky is falling" in str(lines[-1].get("result")), f"result: {lines[-1].get('result')!r}")


@check("api", "After an API error the session accepts the next prompt.")
async def session_continues(bench: Bench) -> None:
    bench.says(reply(text("Better."), when=When(prompt="once more")), afterwards=http_error(400))
    agent = await bench.start()
    expect_equal("is_error", (await agent.turn("hello"))[-1].get("is_error"), True)
    expect_equal("next result", (await agent.turn("once more"))[-1].get("result"), "Better.")


@check("api", "A stream that breaks off within a block is retried and reported as system/api_retry.")
async def broken_stream(bench: Bench) -> None:
    bench.says([text("Half a sen", unfinished=True), cut(broken=True)], text("A whole sentence."))
    lines = await (await bench.start()).turn("hello")
    expect_equal("result", lines[-1].get("result"), "A whole sentence.")
    expect_equal("system/api_retry lines", len(of_type(lines, "system", "api_retry")), 1)


@check("api", "If the model stops at max_tokens, it is asked to continue.")
async def max_tokens(bench: Bench) -> None:
    bench.says(reply(text("The first half"), stop_reason="max_tokens"), text("and the second."))
    lines = await (await bench.start()).turn("hello")
    expect_equal("requests to the model", len(bench.model.main_requests), 2)
    expect_equal("result", lines[-1].get("result"), "and the second.")


@check("api", "--fallback-model is used after repeated overloads and reported as system/model_fallback.")
async def fallback(bench: Bench) -> None:
    bench.says(
        http_error(529),
        http_error(529),
        http_error(529),
        text("Fallback here."),
        afterwards=reply(text("Fallback here.")),
    )
    agent = await bench.start("--model", "claude-opus-4-5", "--fallback-model", "claude-sonnet-4-5")
    lines = await agent.turn("hello")
    expect_equal("system/model_fallback lines", len(of_type(lines, "system", "model_fallback")), 1)
    expect_equal("last model requested", bench.model.main_requests[-1].body["model"], "claude-sonnet-4-5")
    expect_equal("result", lines[-1].get("result"), "Fallback here.")
