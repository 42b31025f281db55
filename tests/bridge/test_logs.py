"""Log lines: one per record, as text or JSON, and never a secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from handrail.bridge.logs import log_to, without_secrets

TOKEN = "0123456789abcdef." + "A1b2_" * 8 + "xyz"
SECRETS = [
    f"GET /ws?token={TOKEN}",
    f"device {TOKEN} came",
    f"http://127.0.0.1:8787/#link={'L1_-' * 10}",
    f"handrail.v1, ticket.{'T2_-' * 8}",
    f"Authorization: Bearer {TOKEN}",
    f"cookie: handrail={TOKEN}",
    "key sk-ant-api03-veryverysecret",
]


@pytest.fixture(params=[True, False], ids=["json", "text"])
def stream(request: pytest.FixtureRequest) -> Iterator[tuple[io.StringIO, bool]]:
    out = io.StringIO()
    handler = log_to(out, as_json=request.param)
    yield out, request.param
    for name in ("handrail", "uvicorn", "asyncio"):
        logging.getLogger(name).removeHandler(handler)
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_masked(text: str):
    shown = without_secrets(text)
    assert "***" in shown
    assert not any(part in shown for part in ("A1b2", "L1_-", "T2_-", "veryverysecret"))


def test_other_text_is_unchanged():
    text = "session 6c9a1d7e-0000-4000-8000-000000000000: 12,345 input_tokens in /home/me/link"
    assert without_secrets(text) == text


def test_w46_terminal_control_characters_are_escaped(stream: tuple[io.StringIO, bool]):
    out, as_json = stream
    said = "a\r\nb \x1b[2K\x1b]52;c;eA==\x07 \x9b31m \u202e \u2028 \x7f é"
    logging.getLogger("handrail.bridge").warning("it said %s", said)
    [line] = out.getvalue().splitlines()
    assert all(sign.isprintable() for sign in line)
    assert ("é" in line) is not as_json
    assert not as_json or json.loads(line)["message"] == f"it said {said}"


def test_each_record_is_one_line_without_secrets(stream: tuple[io.StringIO, bool]):
    out, as_json = stream
    for text in SECRETS:
        logging.getLogger("handrail.bridge").warning("it said %s\nand more", text, extra={"address": text})
    try:
        raise ValueError(f"no {TOKEN}")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("failed")
    lines = out.getvalue().splitlines()
    assert len(lines) == len(SECRETS) + 1
    assert not any(part in out.getvalue() for part in ("A1b2", "L1_-", "T2_-", "veryverysecret"))
    if as_json:
        last = json.loads(lines[-1])
        assert (last["level"], last["logger"], last["message"][:18]) == ("error", "uvicorn.error", "failed: ValueError")
        assert "(test_logs.py:" in last["message"]
        assert "address" in json.loads(lines[0])
