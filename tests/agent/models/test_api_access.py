"""handrail.agent.models.api_access: address, headers and proxy of the API."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from handrail.agent.models.api_access import ApiOptions, api_access, proxy_for
from handrail.agent.models.base import ModelError


def test_the_default_is_the_public_api():
    access = api_access({})
    assert (access.url, access.host, access.timeout) == ("https://api.anthropic.com", "", 600.0)
    assert access.headers == {"anthropic-version": "2023-06-01", "user-agent": "handrail-agent"}


def test_the_host_of_another_address_has_no_password():
    access = api_access({"ANTHROPIC_BASE_URL": "https://me:hidden@gate.example:8443/api/"})
    assert (access.url, access.host) == ("https://me:hidden@gate.example:8443/api", "gate.example:8443")
    assert access.hide("at hidden") == "at ***"


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://", "x", "http://h:0", "http://h:99999", "http://h/?a=1", "http://[::1"]
)
def test_an_invalid_address_is_refused(url: str):
    with pytest.raises(ModelError, match="ANTHROPIC_BASE_URL"):
        api_access({"ANTHROPIC_BASE_URL": url})


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BETAS"])
def test_an_invalid_header_value_is_refused_and_not_shown(name: str):
    with pytest.raises(ModelError, match=name) as caught:
        api_access({name: "abc\r\nx-evil: 1"})
    assert "evil" not in str(caught.value)


def test_invalid_header_lines_are_skipped():
    access = api_access({"ANTHROPIC_CUSTOM_HEADERS": "no colon\n: empty\nb ad: x\nHost: evil\nX-Good: yes\r\n"})
    assert access.headers == {
        "anthropic-version": "2023-06-01",
        "user-agent": "handrail-agent",
        "x-good": "yes",
    }


def test_the_user_agent_names_the_caller_and_the_workload():
    environment = {
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_AGENT_SDK_VERSION": "0.2.182",
        "CLAUDE_AGENT_SDK_CLIENT_APP": "my-app/1\n",
    }
    access = api_access(environment, ApiOptions(workload="cron"))
    assert access.headers["user-agent"] == (
        "handrail-agent (sdk-py, agent-sdk/0.2.182, client-app/my-app/1?, workload/cron)"
    )


def test_beta_features_of_all_sources_are_joined():
    environment = {"ANTHROPIC_BETAS": "a, b", "ANTHROPIC_CUSTOM_HEADERS": "anthropic-beta: d"}
    access = api_access(environment, ApiOptions(betas=("b", "c")))
    assert access.headers["anthropic-beta"] == "a,b,c,d"
    assert access.headers_for(betas=("e",))["anthropic-beta"] == "a,b,c,d,e"
    assert "anthropic-beta" not in api_access({}).headers_for()


def test_the_key_of_a_helper_is_sent_in_both_headers():
    headers = api_access({}).headers_for(key="helped")
    assert (headers["x-api-key"], headers["authorization"]) == ("helped", "Bearer helped")


@pytest.mark.parametrize("text", ["nope", "[1]", '{"stream": false}', '{"messages": []}'])
def test_an_extra_body_that_cannot_be_used_is_refused(text: str):
    with pytest.raises(ModelError, match="CLAUDE_CODE_EXTRA_BODY"):
        api_access({"CLAUDE_CODE_EXTRA_BODY": text})


def test_the_extra_body_is_read():
    assert api_access({"CLAUDE_CODE_EXTRA_BODY": '{"top_k": 5}'}).extra_body == {"top_k": 5}


def test_the_longest_secret_is_hidden_first():
    access = api_access({"ANTHROPIC_API_KEY": "secret", "ANTHROPIC_AUTH_TOKEN": "secret-token"})
    assert access.hide("secret-token and secret") == "*** and ***"


@pytest.mark.parametrize(("given", "seconds"), [("1500", 1.5), ("", 600), ("soon", 600), ("-1", 600), ("0", 600)])
def test_the_time_limit_is_in_milliseconds(given: str, seconds: float):
    assert api_access({"API_TIMEOUT_MS": given}).timeout == seconds


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("", False),
        ("*", True),
        ("api.example.com", True),
        (".example.com", True),
        ("*.example.com", True),
        ("example.com", True),
        ("le.com", False),
        ("api.example.com:443", True),
        ("api.example.com:80", False),
        ("other.org, EXAMPLE.com", True),
        ("other.org", False),
    ],
)
def test_no_proxy_names_hosts_that_are_reached_directly(no_proxy: str, direct: bool):
    environment = {"HTTPS_PROXY": "proxy.example:3128", "NO_PROXY": no_proxy}
    found = proxy_for(urlsplit("https://api.example.com/x"), environment)
    assert found == (None if direct else "http://proxy.example:3128")


def test_an_address_of_version_six_can_be_excepted():
    assert proxy_for(urlsplit("http://[::1]:8080"), {"ALL_PROXY": "http://p", "no_proxy": "::1"}) is None
    assert proxy_for(urlsplit("http://[::1]:8080"), {"ALL_PROXY": "http://p", "no_proxy": "[::1]:8080"}) is None


def test_the_proxy_belongs_to_the_scheme():
    environment = {"HTTPS_PROXY": "http://secure", "http_proxy": "http://plain"}
    assert proxy_for(urlsplit("https://h"), environment) == "http://secure"
    assert proxy_for(urlsplit("http://h"), environment) == "http://plain"
    assert proxy_for(urlsplit("http://h"), {"HTTPS_PROXY": "http://secure"}) is None
