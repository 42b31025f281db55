"""Addresses that are fetched. In: a URL and the rules about domains. Out: what the rules say.

`domain:example.com` allows exactly that host, `domain:*.example.com` those below it. A deny covers the host and all
below it, and an address that can be read in two ways is never allowed by a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from handrail.permissions.circumstances import Circumstances, Step
from handrail.permissions.rule_book import rules_about
from handrail.permissions.rules import Behavior

__all__ = ["host_of", "judge_address"]

_PLAIN: Final = re.compile(
    r"https?://(?P<host>[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)\.?"
    r"(?::\d{1,5})?(?:[/?#][^\s\\\x00-\x1f\x7f]*)?",
    re.IGNORECASE,
)
_SAYS: Final[dict[Behavior, str]] = {"allow": "allows", "deny": "denies", "ask": "asks about"}


def host_of(url: str) -> str:
    """The host of a plain address, in small letters; nothing for an address that may be read in two ways."""
    found = _PLAIN.fullmatch(url)
    return found["host"].lower() if found else ""


def judge_address(tool: str, url: object, circumstances: Circumstances) -> Iterator[Step]:
    """What the rules about domains say to this address."""
    if not isinstance(url, str):
        yield Step(tool, "deny", "there is no address", "other")
        return
    host = host_of(url)
    for behavior in ("deny", "ask", "allow"):
        for rule in rules_about(circumstances.rules, behavior, tool):
            content = rule.rule.content
            if content is not None and not rule.broken and _covers(content, host, url, behavior):
                yield Step(tool, behavior, f"the rule {rule.rule} {_SAYS[behavior]} {host or 'it'}", "rule", rule)


def _covers(content: str, host: str, url: str, behavior: Behavior) -> bool:
    domain = content.removeprefix("domain:").strip().lower().rstrip(".")
    if behavior == "allow":
        below = domain.startswith("*.") and host.endswith(domain[1:])
        return (
            content.startswith("domain:") and bool(host) and (host == domain or below or (domain == "*" and bool(host)))
        )
    domain = domain.removeprefix("*").lstrip(".")
    if not content.startswith("domain:") or not domain:
        return True
    return (host == domain or host.endswith(f".{domain}")) if host else domain in url.lower()
