"""Addresses that are fetched, and the rules about them."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.permissions.circumstances import Circumstances, Step
from handrail.permissions.rules.rule import Rule, SourcedRule
from handrail.permissions.tools.addresses import host_of, judge_address
from tests.permissions.bash_cases import ANCHORS, rules


def steps(url: object, **texts: Any) -> list[Step]:
    return list(judge_address("WebFetch", url, Circumstances(ANCHORS, rules=rules(**texts))))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.com", "a.com"),
        ("HTTP://A.Com/x?y#z", "a.com"),
        ("https://a.com.", "a.com"),
        ("https://a.com:8080/x", "a.com"),
        ("https://127.0.0.1/x", "127.0.0.1"),
        ("https://a-b.com?x", "a-b.com"),
        ("ftp://a.com", ""),
        ("a.com", ""),
        ("https://me@a.com", ""),
        ("https://a.com\\@b.com", ""),
        ("https://a.com:123456", ""),
        ("https://-a.com", ""),
        ("https://a..com", ""),
        ("https://a.com/x y", ""),
        ("https://a.com/\\x", ""),
        ("https://[::1]/", ""),
        ("https://ä.com", ""),
        ("https://", ""),
        (" https://a.com", ""),
    ],
)
def test_the_host_of_a_plain_address_is_known(url: str, host: str):
    assert host_of(url) == host


def test_without_an_address_nothing_is_fetched():
    assert steps(None) == [Step("deny", "the address is missing", subject="WebFetch")]
    assert steps(7, allow=["WebFetch"]) == [Step("deny", "the address is missing", subject="WebFetch")]


@pytest.mark.parametrize(
    ("content", "url", "allows", "denies"),
    [
        ("domain:a.com", "https://a.com/x", "allow", "deny"),
        ("domain:A.com", "https://a.com/x", "allow", "deny"),
        ("domain: a.com. ", "https://a.com/x", "allow", "deny"),
        ("domain:a.com", "https://b.a.com/x", "", "deny"),
        ("domain:a.com", "https://ba.com/x", "", ""),
        ("domain:*.a.com", "https://b.a.com/x", "allow", "deny"),
        ("domain:*.a.com", "https://a.com/x", "", "deny"),
        ("domain:*.a.com", "https://ba.com/x", "", ""),
        ("domain:*", "https://a.com", "allow", "deny"),
        ("domain:*", "https://me@a.com", "", "deny"),
        ("domain:a.com", "https://me@A.com", "", "deny"),
        ("domain:a.com", "https://me@b.com", "", "ask"),
        ("domain:", "https://a.com", "", "deny"),
        ("a.com", "https://a.com", "", "deny"),
        ("a.com", "https://b.com", "", "deny"),
        ("domain:https://a.com/x", "https://a.com/y", "", "deny"),
        ("domain:127.0.0.1", "http://127.0.0.1:80/", "allow", "deny"),
        ("domain:127.0.0.1", "http://2130706433/", "", "deny"),
        ("domain:127.0.0.1", "http://0x7f.1/", "", "deny"),
        ("domain:127.0.0.1", "http://0x7f.0x/", "", ""),
        ("domain:127.0.0.1", "http://0177.0.0.1/", "", "deny"),
        ("domain:127.0.0.8", "http://127.0.0.08/", "", "deny"),
        ("domain:127.0.0.1", "http://127.1/", "", "deny"),
        ("domain:127.0.0.1", "http://127.0.1.1/", "", ""),
        ("domain:127.0.0.1", "http://127.0.0.0.1/", "", ""),
        ("domain:b\u00fccher.example", "https://xn--bcher-kva.example/", "", "deny"),
        ("domain:xn--bcher-kva.example", "https://b\u00fccher.example/", "", "deny"),
        ("domain:a.com", "https://a%2ecom/", "", "deny"),
        ("domain:a.com", "https://a\u3002com/", "", "deny"),
        ("domain:a.com", "https://\uff41.com/", "", "deny"),
        ("domain:a.com", "https://a\t.com/", "", "deny"),
        ("domain:a.com", "https://b.com\\@a.com/", "", "deny"),
        ("domain:a.com", "https://\ud800.com/", "", "ask"),
    ],
)
def test_a_rule_covers_a_domain(content: str, url: str, allows: str, denies: str):
    rule = f"WebFetch({content})"
    asks = denies and "ask"
    found = [steps(url, allow=[rule]), steps(url, ask=[rule]), steps(url, deny=[rule])]
    assert ["".join(step.behavior for step in each) for each in found] == [allows, asks, denies]


def test_each_rule_is_a_step_with_its_reason_the_strictest_first():
    found = steps(
        "https://a.com",
        allow=["WebFetch(domain:a.com)", "WebFetch"],
        ask=["WebFetch(domain:*)"],
        deny=["WebFetch(domain:a.com)", "WebFetch(domain:a"],
    )
    assert [(step.subject, step.behavior, step.reason, step.reason_type) for step in found] == [
        ("WebFetch", "deny", "the rule WebFetch(domain:a.com) denies a.com", "rule"),
        ("WebFetch", "ask", "the rule WebFetch(domain:*) asks about a.com", "rule"),
        ("WebFetch", "allow", "the rule WebFetch(domain:a.com) allows a.com", "rule"),
    ]
    assert [step.rule and step.rule.behavior for step in found] == ["deny", "ask", "allow"]


def test_a_host_that_is_not_known_is_not_named():
    (step,) = steps("https://me@a.com", deny=["WebFetch(domain:a.com)"])
    assert step.reason == "the rule WebFetch(domain:a.com) denies it"


@pytest.mark.parametrize(
    ("domain", "url", "behaviors"),
    [
        ("evil.com", "http://ev%69l.com/", ["deny"]),
        ("evil.com", "http://me@evil.com", ["deny"]),
        ("evil.com", "http://ev\til.com/", ["deny"]),
        ("evil.com", "http://evil\u3002com/", ["deny"]),
        ("evil.com", "http://\uff45vil.com/", ["deny"]),
        ("evil.com", "http://EVIL.com.:80/", ["deny"]),
        ("b\u00fccher.example", "http://xn--bcher-kva.example/", ["deny"]),
        ("B\u00dcCHER.example", "http://b\u00fccher.example/", ["deny"]),
        ("b\ud800.example", "http://a.example/", []),
        ("127.0.0.1", "http://2130706433/", ["deny"]),
        ("127.0.0.1", "http://0x7f.1/", ["deny"]),
        ("127.0.0.1", "http://0177.0.0.1/", ["deny"]),
        ("127.0.0.1", "http://127.1/", ["deny"]),
        ("127.0.0.1", "http://127.0.0.1.nip.example/", []),
        ("2130706433", "http://127.0.0.1/", ["deny"]),
        ("127.0.0.1", "http://[::1]/", ["ask"]),
        ("09.0.0.1", "http://9.0.0.1/", ["deny"]),
        ("ev*.com", "http://evil.com", ["deny"]),
        ("https://evil.com/x", "http://evil.com", ["deny"]),
        ("evil.com:80", "http://evil.com", ["deny"]),
        ("evil.com", "http://notevil.com", []),
        ("evil.com", "http://good.com/?q=evil.com", []),
        ("evil.com", "mailto:somebody", ["ask"]),
    ],
)
def test_a_forbidden_host_is_known_in_every_spelling(domain: str, url: str, behaviors: list[str]):
    given = Circumstances(ANCHORS, rules=(SourcedRule(Rule("WebFetch", f"domain:{domain}"), "deny"),))
    assert [step.behavior for step in judge_address("WebFetch", url, given)] == behaviors


def test_only_the_letters_of_a_host_are_allowed():
    assert steps("http://2130706433/", allow=["WebFetch(domain:127.0.0.1)"]) == []
    assert steps("http://xn--bcher-kva.de/", allow=["WebFetch(domain:b\u00fccher.de)"]) == []
