"""No secret passes, and what is no secret does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.transport.masking import MASK, Masker, mask_argv, mask_bytes, mask_text, names_a_secret


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-ant-api03-AbC_d-9 end", "key *** end"),
        ("sk-proj-0123456789abcdef", "***"),
        (r'{"text":"first\nsk-ant-oat01-secret"}', r'{"text":"first\n***"}'),
        ("Bearer abc123def", "Bearer ***"),
        (r'{"t":"x\nBearer abc123def"}', r'{"t":"x\nBearer ***"}'),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: ***"),
        ("curl -H 'x-api-key: abc' http://h", "curl -H 'x-api-key: ***' http://h"),
        ("Cookie: session=abc; other=d", "Cookie: ***"),
        ('{"Authorization":"Token a\\"b","n":1}', '{"Authorization":"***","n":1}'),
        ('{"headers":{"X-Api-Key": "zz"}}', '{"headers":{"X-Api-Key": "***"}}'),
        (r'{"c":"{\"refresh_token\":\"zz\",\"n\":1}"}', r'{"c":"{\"refresh_token\":\"***\",\"n\":1}"}'),
        ('{"accessToken":"zz","clientSecret":"yy"}', '{"accessToken":"***","clientSecret":"***"}'),
        ('{"env":{"MY_API_TOKEN":"zz"}}', '{"env":{"MY_API_TOKEN":"***"}}'),
        ("GITHUB_TOKEN=abc claude", "GITHUB_TOKEN=*** claude"),
        ("https://user:pass@host/x?access_token=abc&n=1", "https://user:***@host/x?access_token=***&n=1"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl", "***"),
        ("ghp_0123456789abcdefghijABCD", "***"),
        ("AKIAABCDEFGHIJKLMNOP", "***"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, masked: str):
    assert mask_text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        '{"usage":{"input_tokens":5,"cache_read_input_tokens":7}}',
        '{"apiKeySource":"ANTHROPIC_API_KEY","tokenSource":"none"}',
        "MAX_THINKING_TOKENS=8000",
        "the task-force asks whether bearer tokens are used",
        "ask-me-anything-about-this",
        "API_KEY=$OTHER_KEY",
        "http://localhost:8080/path@2x.png",
        '{"password":""}',
    ],
)
def test_what_is_no_secret_stays(text: str):
    assert mask_text(text) == text


def test_the_values_of_secret_variables_are_masked_wherever_and_however_they_are_written():
    environment = {"SERVICE_PASSWORD": 'wör"d\\x', "HOME": "/home/me"}
    line = json.dumps({"said": 'it is wör"d\\x', "home": "/home/me"}, ensure_ascii=False)
    assert mask_text(line, environment) == '{"said": "it is ***", "home": "/home/me"}'
    assert mask_text(json.dumps('wör"d\\x'), environment) == '"***"'
    assert mask_text('plain wör"d\\x, url w%C3%B6r%22d%5Cx', environment) == "plain ***, url ***"


def test_each_line_of_a_key_of_several_lines_is_masked():
    key = "first-line-of-the-key\nsecond-line-of-the-key"
    assert mask_text("second-line-of-the-key", {"SIGNING_KEY": key}) == MASK
    assert mask_text(json.dumps({"key": key}), {"SIGNING_KEY": key}) == '{"key": "***"}'


def test_a_short_value_is_masked_only_where_it_stands_alone():
    assert mask_text("pin abcd, abcdef", {"DOOR_TOKEN": "abcd"}) == "pin ***, abcdef"


@pytest.mark.parametrize("value", ["", "1", "true", "none", "32000"])
def test_settings_that_only_sound_secret_are_not_masked(value: str):
    line = '{"on":true,"n":32000,"x":"none 1"}'
    assert mask_text(line, {"MAX_OUTPUT_TOKENS": value}) == line


def test_bytes_that_are_not_text_are_masked_too():
    assert mask_bytes(b"\xff sk-ant-abcdefgh \xfe") == b"\xff *** \xfe"


def test_argv_hides_what_follows_a_flag_that_asks_for_a_secret():
    argv = ["claude", "--api-key", "abc", "--auth-token=def", "--max-thinking-tokens", "8000", "--verbose"]
    assert mask_argv(argv) == [
        "claude",
        "--api-key",
        MASK,
        f"--auth-token={MASK}",
        "--max-thinking-tokens",
        "8000",
        "--verbose",
    ]


def test_argv_hides_secrets_inside_other_arguments():
    argv = ["--mcp-config", '{"env":{"A_TOKEN":"x"}}', "-H", "Authorization: y", "--secret", "--verbose", "hunter2x"]
    assert mask_argv(argv, {"PASSWORD": "hunter2x"}) == [
        "--mcp-config",
        '{"env":{"A_TOKEN":"***"}}',
        "-H",
        "Authorization: ***",
        "--secret",
        "--verbose",
        MASK,
    ]


def test_names_say_whether_they_are_secret():
    secret = ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "HTTP_COOKIE", "clientSecret", "--api-key", "KEY"]
    plain = ["HOME", "PATH", "KEYBOARD", "MONKEY_MODE", "LANG"]
    assert [name for name in [*secret, *plain] if names_a_secret(name)] == secret


@settings(max_examples=50)
@given(st.dictionaries(st.text(min_size=1), st.recursive(st.text() | st.integers(), st.lists), max_size=4))
def test_a_line_of_json_stays_one(value: dict[str, object]):
    masker = Masker({"A_TOKEN": "token-value"})
    line = json.dumps({**value, "token": "token-value", "h": "Authorization: token-value"})
    masked = json.loads(masker.mask_text(line))
    assert (masked["token"], masked["h"]) == (MASK, "Authorization: ***")


@given(st.binary())
def test_masking_twice_changes_nothing_more(data: bytes):
    once = mask_bytes(data)
    assert mask_bytes(once) == once
