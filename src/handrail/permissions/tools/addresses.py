"""Addresses that are fetched. The rules about domains decide.

`domain:example.com` allows exactly that host, `domain:*.example.com` those below it. A deny covers the host and all
below it, however it is spelled. An address that can be read in two ways is never allowed by a rule, and where any rule
forbids a host it is asked about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from handrail.permissions.circumstances import Circumstances, Step, by_rule
from handrail.permissions.rules.book import rules_about

__all__ = ["host_of", "judge_address"]

_PLAIN: Final = re.compile(
    r"https?://(?P<host>[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)\.?"
    r"(?::\d{1,5})?(?:[/?#][^\s\\\x00-\x1f\x7f]*)?",
    re.IGNORECASE | re.ASCII,
)
_DOMAIN: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?P<host>[^/?#:]*)")
_ESCAPES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|\d+")


def host_of(url: str) -> str:
    """The host of a plain address, in small letters; nothing for an address that may be read in two ways."""
    found = _PLAIN.fullmatch(url)
    return found["host"].lower() if found else ""


def judge_address(tool: str, url: object, circumstances: Circumstances) -> Iterator[Step]:
    """What the rules about domains say to this address."""
    if not isinstance(url, str):
        yield Step("deny", "the address is missing", subject=tool)
        return
    host = host_of(url)
    for behavior in ("deny", "ask", "allow"):
        for rule in rules_about(circumstances.rules, behavior, tool):
            content = rule.rule.content
            if content is None or rule.broken:
                continue
            if _allows(content, host) if behavior == "allow" else _forbids(content, host, url):
                yield by_rule(behavior, rule, subject=tool, what=host or "it")
            elif behavior != "allow" and not host:
                yield Step(
                    "ask", f"the address is unclear, and the rule {rule.rule} may mean it", "rule", rule, subject=tool
                )


def _allows(content: str, host: str) -> bool:
    """To the letter, and only a plain address."""
    if not host or not content.startswith("domain:"):
        return False
    domain = content.removeprefix("domain:").strip().lower().rstrip(".")
    return domain == "*" or host == domain or (domain.startswith("*.") and host.endswith(domain[1:]))


def _forbids(content: str, host: str, url: str) -> bool:
    """In every spelling, with all that is below. A content that names no domain means every address."""
    found = _DOMAIN.match(_legible(content.removeprefix("domain:").strip()))
    domain = found["host"].strip(".") if found else ""
    domain = _numeric(domain) or _in_ascii(domain.removeprefix("*").strip("."))
    if not content.startswith("domain:") or not domain.strip("*"):
        return True
    return any(_is_at(_numeric(each) or _in_ascii(each), domain) for each in ([host] if host else _hosts(url)))


def _is_at(host: str, domain: str) -> bool:
    return fnmatchcase(host, domain) or fnmatchcase(host, f"*.{domain}")


def _hosts(url: str) -> list[str]:
    """Everything in an unclear address that could be its host."""
    return [part.strip(".") for part in re.split(r"[/\\?#@:\[\]\s]+", _legible(url))]


def _legible(text: str) -> str:
    """As a browser reads it: no tabs and line ends, escapes decoded, look-alikes and other dots made plain."""
    decoded = _ESCAPES.sub(_unescaped, re.sub(r"[\t\r\n]", "", text))
    return unicodedata.normalize("NFKC", decoded).replace("。", ".").lower()


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")


def _in_ascii(text: str) -> str:
    """Each label in the form that names have on the wire: `bücher.example` is `xn--bcher-kva.example`."""
    return ".".join(map(_label, text.split(".")))


def _label(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


def _numeric(host: str) -> str:
    """The address that a host of numbers stands for: `2130706433`, `0x7f.1` and `127.1` are all `127.0.0.1`."""
    parts = host.split(".")
    if len(parts) > 4 or not all(map(_NUMBER.fullmatch, parts)):
        return ""
    numbers = [int(part[2:] or "0", 16) if part.startswith("0x") else _decimal(part) for part in parts]
    value = numbers.pop()
    for index, number in enumerate(numbers):
        value += number << (8 * (3 - index))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _decimal(part: str) -> int:
    """A leading 0 makes it octal, where its digits allow that."""
    return int(part[:20], 8 if part.startswith("0") and not set(part) & {"8", "9"} else 10)
