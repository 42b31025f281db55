"""Masking of secrets, and only of secrets."""

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
def test_secret_patterns_are_masked(text: str, masked: str):
    assert mask_text(text) == masked


BODY = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" * 4
UPPER = "AB3DE5GH7JK9MN1P"
HEX = "0123456789abcdef" * 4
FORMS = {
    "github": [f"{prefix}{BODY[:36]}" for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")],
    "github, fine": [f"github_pat_{BODY[:22]}_{BODY[:59]}"],
    "gitlab": [f"{prefix}-{BODY[:20]}" for prefix in ("glpat", "gldt", "glrt", "glptt", "glcbt", "glsoat", "gloas")],
    "aws": [f"{prefix}{UPPER}" for prefix in ("AKIA", "ASIA", "ABIA", "AROA")],
    "aws secret": [f"aws_secret_access_key = {BODY[:40]}", f"AWS_SECRET_ACCESS_KEY={BODY[:40]}"],
    "google": [f"AIza{BODY[:35]}", f"ya29.{BODY[:60]}", f"GOCSPX-{BODY[:28]}", f"1//0{BODY[:60]}"],
    "azure": [f"abc8Q~{BODY[:34]}", f"AccountKey={BODY[:86]}==;EndpointSuffix=x", f"SharedAccessKey={BODY[:43]}="],
    "slack": [f"{prefix}-123456789012-{BODY[:24]}" for prefix in ("xoxb", "xoxp", "xoxa", "xoxe.xoxp", "xapp")],
    "slack address": [f"https://hooks.slack.com/services/T00000000/B00000000/{BODY[:24]}"],
    "stripe": [f"{prefix}_{BODY[:24]}" for prefix in ("sk_live", "sk_test", "rk_live", "whsec")],
    "models": [f"sk-proj-{BODY}", f"sk-ant-api03-{BODY}", f"hf_{BODY[:34]}", f"gsk_{BODY[:52]}", f"r8_{BODY[:37]}"],
    "packages": [
        f"npm_{BODY[:36]}",
        f"pypi-AgEIcHlwaS5vcmc{BODY[:70]}",
        f"rubygems_{HEX[:48]}",
        f"dckr_pat_{BODY[:27]}",
    ],
    "npmrc": [f"//registry.example.org/:_authToken={BODY[:36]}", f"_auth = {BODY[:40]}"],
    "jwt": [f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{BODY[:20]}.{BODY[:43]}"],
    "private key": [
        f"-----BEGIN {kind}PRIVATE KEY-----\n{BODY}\n" for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")
    ],
    "pgp": [f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BODY}\n"],
    "address": [
        f"postgres://u:{BODY[:12]}@h/db",
        "redis://:Pa55!word@h:1",
        "amqp://u:p@55w0rd-x@h/v",
        f"https://o:{BODY}@h",
    ],
    "header": [f"Authorization: Bearer {BODY[:30]}", f"PRIVATE-TOKEN: {BODY[:20]}", f"X-Vault-Token: {BODY[:20]}"],
    "query": [
        f"https://h/?sig={BODY[:43]}%3D&se=1",
        f"https://h/?X-Amz-Signature={HEX}",
        f"https://h/x?api_key={BODY[:20]}",
    ],
    "assignment": [
        f'export DB_PASSWORD="{BODY[:16]}"',
        f"api_key: '{BODY[:24]}'",
        f"spring.datasource.password={BODY[:9]}",
    ],
    "netrc": [f"machine h login me password {BODY[:10]}"],
    "connection": [f"Server=h;User Id=u;Password={BODY[:12]};", f"Data Source=h;Pwd={BODY[:12]}"],
    "vault": [f"hvs.{BODY[:90]}", f"abcdefghijklmn.atlasv1.{BODY[:67]}", f"dp.pt.{BODY[:43]}", f"pul-{HEX[:40]}"],
    "services": [
        f"SG.{BODY[:22]}.{BODY[:43]}",
        f"key-{HEX[:32]}",
        f"{HEX[:32]}-us12",
        f"SK{HEX[:32]}",
        f"dop_v1_{HEX}",
    ],
    "shops": [f"shpat_{HEX[:32]}", f"sq0csp-{BODY[:43]}", f"EAAA{BODY[:60]}"],
    "tools": [f"ATATT3xFf{BODY[:60]}", f"lin_api_{BODY[:40]}", f"figd_{BODY[:40]}", f"PMAK-{HEX[:24]}-{HEX[:34]}"],
    "operations": [
        f"glsa_{BODY[:32]}_{HEX[:8]}",
        f"NRAK-{UPPER}{UPPER[:11]}",
        f"dapi{HEX[:32]}",
        f"tskey-auth-{BODY[:20]}",
    ],
    "chat": [f"123456789:AA{BODY[:33]}", f"M{BODY[:23]}.G{BODY[:5]}.{BODY[:38]}"],
    "age": [f"AGE-SECRET-KEY-1{'QPZRY9X8GF2TVDW0S3JN' * 3}"],
}


@pytest.mark.parametrize("text", [text for forms in FORMS.values() for text in forms])
@pytest.mark.parametrize("place", ["{}", "say {} now", "x={}\ny", "({})"])
def test_known_formats_are_masked(text: str, place: str):
    for masked in (mask_text(place.format(text)), json.loads(mask_text(json.dumps({"t": place.format(text)})))["t"]):
        assert MASK in masked
        # The unmasked rest of the secret is too short to be of use.
        assert not any(
            body[start : start + 9] in masked for body in (BODY, UPPER, HEX) for start in range(len(body) - 9)
        )
        assert not any(part in masked for part in ("55!", "w0rd"))


@pytest.mark.parametrize(
    "text",
    [
        "token = next_token(stream)",
        "password: string;",
        "key: value, auth: none",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "import hashlib; key = hashlib.sha256(data)",
        "ASIA-PACIFIC and AKIAMA are no keys",
        "the secret of good docs; a token of thanks; pass the salt",
        "https://example.org:8443/a/b@c",
        "cache_key = (self.name, self.version)",
        '{"tool_use_id":"toolu_01A09q90qw90lq917835lq9","session_id":"4f2a7c1e-9d1b-4c55-8a5e-0f6f1f1f1f1f"}',
        "npm_config_registry, hf_transfer, sk_buff, key-value-store-with-a-long-name",
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
def test_harmless_text_is_unchanged(text: str):
    assert mask_text(text) == text


def test_values_of_secret_variables_are_masked_in_every_encoding():
    environment = {"SERVICE_PASSWORD": 'wör"d\\x', "HOME": "/home/me"}
    line = json.dumps({"said": 'it is wör"d\\x', "home": "/home/me"}, ensure_ascii=False)
    assert mask_text(line, environment) == '{"said": "it is ***", "home": "/home/me"}'
    assert mask_text(json.dumps('wör"d\\x'), environment) == '"***"'
    assert mask_text('plain wör"d\\x, url w%C3%B6r%22d%5Cx', environment) == "plain ***, url ***"


def test_each_line_of_a_multiline_key_is_masked():
    key = "first-line-of-the-key\nsecond-line-of-the-key"
    assert mask_text("second-line-of-the-key", {"SIGNING_KEY": key}) == MASK
    assert mask_text(json.dumps({"key": key}), {"SIGNING_KEY": key}) == '{"key": "***"}'


def test_short_value_is_masked_only_as_a_whole_word():
    assert mask_text("pin abcd, abcdef", {"DOOR_TOKEN": "abcd"}) == "pin ***, abcdef"


@pytest.mark.parametrize("value", ["", "1", "true", "none", "32000"])
def test_harmless_values_of_secret_names_are_not_masked(value: str):
    line = '{"on":true,"n":32000,"x":"none 1"}'
    assert mask_text(line, {"MAX_OUTPUT_TOKENS": value}) == line


def test_invalid_utf8_is_masked_too():
    assert mask_bytes(b"\xff sk-ant-abcdefgh \xfe") == b"\xff *** \xfe"


def test_value_of_a_secret_flag_is_masked():
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


def test_secrets_inside_other_arguments_are_masked():
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


def test_secret_names_are_recognized():
    secret = ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "HTTP_COOKIE", "clientSecret", "--api-key", "KEY"]
    plain = ["HOME", "PATH", "KEYBOARD", "MONKEY_MODE", "LANG"]
    assert [name for name in [*secret, *plain] if names_a_secret(name)] == secret


@settings(max_examples=50)
@given(st.dictionaries(st.text(min_size=1), st.recursive(st.text() | st.integers(), st.lists), max_size=4))
def test_masked_json_stays_valid(value: dict[str, object]):
    masker = Masker({"A_TOKEN": "token-value"})
    line = json.dumps({**value, "token": "token-value", "h": "Authorization: token-value"})
    masked = json.loads(masker.mask_text(line))
    assert (masked["token"], masked["h"]) == (MASK, "Authorization: ***")


@given(st.binary())
def test_masking_is_idempotent(data: bytes):
    once = mask_bytes(data)
    assert mask_bytes(once) == once
