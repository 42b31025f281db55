"""Where the Messages API is and how one gets in. In: environment variables. Out: `ApiAccess`. Secrets stay inside it.

ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, ANTHROPIC_CUSTOM_HEADERS (one `Name: value` per line),
ANTHROPIC_BETAS (names with commas between), API_TIMEOUT_MS, HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY,
SSL_CERT_FILE, NODE_EXTRA_CA_CERTS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from handrail.agent.models.base import ModelError

__all__ = ["ApiAccess", "api_access", "proxy_for"]

DEFAULT_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
TIMEOUT = 600.0
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
OWN_HEADERS = frozenset({"content-length", "content-type", "host", "transfer-encoding", "connection"})


class ApiAccess(Struct, frozen=True):
    """What a request to the API needs beside its body."""

    url: str
    headers: dict[str, str]
    secrets: tuple[str, ...] = ()
    proxy: str | None = None
    timeout: float = TIMEOUT
    certificates: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ApiAccess({self.url!r})"

    @property
    def host(self) -> str:
        """Host and port, where it is not the default one; else empty."""
        return "" if self.url == DEFAULT_URL else urlsplit(self.url).netloc.rpartition("@")[2]

    def hide(self, text: str) -> str:
        """The text without the secrets that a server may have repeated."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def api_access(environment: Mapping[str, str]) -> ApiAccess:
    """Reads the environment. ModelError where the address cannot be used."""
    url = environment.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/") or DEFAULT_URL
    parts = _address(url)
    headers = {"anthropic-version": VERSION}
    key, token = (environment.get(name, "").strip() for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
    if key:
        headers["x-api-key"] = _header_value(key, "ANTHROPIC_API_KEY")
    if token:
        headers["authorization"] = f"Bearer {_header_value(token, 'ANTHROPIC_AUTH_TOKEN')}"
    if betas := ",".join(name.strip() for name in environment.get("ANTHROPIC_BETAS", "").split(",") if name.strip()):
        headers["anthropic-beta"] = _header_value(betas, "ANTHROPIC_BETAS")
    custom = _custom_headers(environment.get("ANTHROPIC_CUSTOM_HEADERS", ""))
    secrets = {key, token, *(value for value in custom.values() if len(value) > 7), parts.password or ""}
    certificates = (environment.get(name, "") for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"))
    return ApiAccess(
        url=url,
        headers={**headers, **custom},
        secrets=tuple(sorted((secret for secret in secrets if secret), key=len, reverse=True)),
        proxy=proxy_for(parts, environment),
        timeout=_timeout(environment.get("API_TIMEOUT_MS", "")),
        certificates=tuple(path for path in certificates if path),
    )


def proxy_for(target: SplitResult, environment: Mapping[str, str]) -> str | None:
    """The proxy for an address, by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in small letters or capitals."""
    proxy = _variable(environment, f"{target.scheme}_proxy") or _variable(environment, "all_proxy")
    if not proxy or _goes_direct(target, _variable(environment, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _goes_direct(target: SplitResult, no_proxy: str) -> bool:
    host = (target.hostname or "").lower()
    port = str(target.port or {"https": 443, "http": 80}.get(target.scheme, ""))
    for entry in re.split(r"[,\s]+", no_proxy.lower()):
        name, _, only = entry.rpartition(":") if re.search(r"[^:]:\d+$|\]:\d+$", entry) else (entry, "", "")
        name = name.removeprefix("*").lstrip(".").strip("[]")
        if entry == "*" or (name and only in ("", port) and (host == name or host.endswith(f".{name}"))):
            return True
    return False


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        plain = not (parts.query or parts.fragment)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and plain
    except ValueError:
        usable = False
    if not usable or re.search(r"[\x00-\x20\x7f]", url):
        raise ModelError("ANTHROPIC_BASE_URL is no address: it must begin with http:// or https:// and name a host")
    return parts  # pyright: ignore[reportPossiblyUnboundVariable]


def _custom_headers(lines: str) -> dict[str, str]:
    """The headers of ANTHROPIC_CUSTOM_HEADERS; those that frame the request are not theirs to set."""
    headers: dict[str, str] = {}
    for line in lines.splitlines():
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if colon and HEADER_NAME.fullmatch(name) and name not in OWN_HEADERS:
            headers[name] = _header_value(value.strip(), "ANTHROPIC_CUSTOM_HEADERS")
    return headers


def _header_value(value: str, variable: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise ModelError(f"{variable} has characters that no header may have: it was perhaps copied with a line break")
    return value


def _timeout(milliseconds: str) -> float:
    return int(milliseconds) / 1000 if re.fullmatch(r"[1-9][0-9]{0,8}", milliseconds.strip()) else TIMEOUT
