"""The address, the headers and the proxy of the Messages API, by the environment. Secrets stay inside `ApiAccess`.

ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, ANTHROPIC_CUSTOM_HEADERS (one `Name: value` per line),
ANTHROPIC_BETAS (names separated by commas), CLAUDE_CODE_EXTRA_BODY (a JSON object), API_TIMEOUT_MS, HTTPS_PROXY,
HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE, NODE_EXTRA_CA_CERTS. The user agent has CLAUDE_CODE_ENTRYPOINT,
CLAUDE_AGENT_SDK_VERSION and CLAUDE_AGENT_SDK_CLIENT_APP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from handrail.agent.models.base import JsonObject, ModelError

if TYPE_CHECKING:
    from handrail.agent.models.key_helper import KeyHelper

__all__ = ["ApiAccess", "ApiOptions", "api_access", "proxy_for"]

DEFAULT_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
TIMEOUT = 600.0
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
OWN_HEADERS = frozenset({"content-length", "content-type", "host", "transfer-encoding", "connection"})
FRAME = frozenset({"messages", "stream"})
"""Fields of the body that CLAUDE_CODE_EXTRA_BODY cannot change: the agent would not understand the answer."""
_BETA = "anthropic-beta"
_AGENT = "handrail-agent"
_CALLERS = {
    "CLAUDE_CODE_ENTRYPOINT": "{}",
    "CLAUDE_AGENT_SDK_VERSION": "agent-sdk/{}",
    "CLAUDE_AGENT_SDK_CLIENT_APP": "client-app/{}",
}


def _no_log(category: str, text: str) -> None:
    """Drop a line of the debug log."""


class ApiOptions(Struct, frozen=True):
    """Options of the API that do not come from the environment. `log` takes lines of the debug log."""

    betas: tuple[str, ...] = ()
    workload: str = ""
    key_helper: KeyHelper | None = None
    log: Callable[[str, str], None] = _no_log


class ApiAccess(Struct, frozen=True):
    """What a request to the API needs beside its own fields."""

    url: str
    headers: dict[str, str]
    secrets: tuple[str, ...] = ()
    proxy: str | None = None
    timeout: float = TIMEOUT
    certificates: tuple[str, ...] = ()
    extra_body: JsonObject = {}

    def __repr__(self) -> str:
        return f"ApiAccess({self.url!r})"

    @property
    def host(self) -> str:
        """Host and port; empty for the default address."""
        return "" if self.url == DEFAULT_URL else urlsplit(self.url).netloc.rpartition("@")[2]

    def hide(self, text: str) -> str:
        """The text without secrets that a server may have repeated."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def headers_for(self, *, key: str = "", betas: Sequence[str] = ()) -> dict[str, str]:
        """The headers of one request. `key`: the key of a helper; `betas`: beta features of this request."""
        headers = {**self.headers, "content-type": "application/json"}
        if key:
            headers |= {"x-api-key": key, "authorization": f"Bearer {key}"}
        if names := ",".join(dict.fromkeys([*filter(None, [self.headers.get(_BETA)]), *betas])):
            headers[_BETA] = names
        return headers


def api_access(environment: Mapping[str, str], options: ApiOptions | None = None) -> ApiAccess:
    """Read the environment. Raises ModelError for a value that cannot be used."""
    url = environment.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/") or DEFAULT_URL
    options = options or ApiOptions()
    parts = _address(url)
    headers = {"anthropic-version": VERSION, "user-agent": _user_agent(environment, options.workload)}
    key, token = (environment.get(name, "").strip() for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
    if key:
        headers["x-api-key"] = _header_value(key, "ANTHROPIC_API_KEY")
    if token:
        headers["authorization"] = f"Bearer {_header_value(token, 'ANTHROPIC_AUTH_TOKEN')}"
    custom = _custom_headers(environment.get("ANTHROPIC_CUSTOM_HEADERS", ""))
    betas = [*_names(environment.get("ANTHROPIC_BETAS", "")), *options.betas, *_names(custom.pop(_BETA, ""))]
    if betas:
        headers[_BETA] = _header_value(",".join(dict.fromkeys(betas)), "ANTHROPIC_BETAS")
    secrets = {key, token, *(value for value in custom.values() if len(value) > 7), parts.password or ""}
    certificates = (environment.get(name, "") for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"))
    return ApiAccess(
        url=url,
        headers={**headers, **custom},
        secrets=tuple(sorted((secret for secret in secrets if secret), key=len, reverse=True)),
        proxy=proxy_for(parts, environment),
        timeout=_timeout(environment.get("API_TIMEOUT_MS", "")),
        certificates=tuple(path for path in certificates if path),
        extra_body=_extra_body(environment.get("CLAUDE_CODE_EXTRA_BODY", "")),
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _user_agent(environment: Mapping[str, str], workload: str) -> str:
    """The agent, and in parentheses who started it and for what."""
    parts = [form.format(environment[name]) for name, form in _CALLERS.items() if environment.get(name)]
    parts += [f"workload/{workload}"] if workload else []
    text = f"{_AGENT} ({', '.join(parts)})" if parts else _AGENT
    return re.sub(r"[^\x20-\x7e]", "?", text)


def _extra_body(text: str) -> JsonObject:
    if not text.strip():
        return {}
    try:
        given = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise ModelError("CLAUDE_CODE_EXTRA_BODY is not a JSON object") from None
    if framed := sorted(FRAME & set(given)):
        raise ModelError(f"CLAUDE_CODE_EXTRA_BODY cannot set {' and '.join(framed)}")
    return given


def proxy_for(target: SplitResult, environment: Mapping[str, str]) -> str | None:
    """The proxy for an address, by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in lower or upper case."""
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
        raise ModelError(
            "ANTHROPIC_BASE_URL is not a valid address: it must begin with http:// or https:// and name a host"
        )
    return parts  # pyright: ignore[reportPossiblyUnboundVariable]


def _custom_headers(lines: str) -> dict[str, str]:
    """The headers of ANTHROPIC_CUSTOM_HEADERS, without those that frame the request."""
    headers: dict[str, str] = {}
    for line in lines.splitlines():
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if colon and HEADER_NAME.fullmatch(name) and name not in OWN_HEADERS:
            headers[name] = _header_value(value.strip(), "ANTHROPIC_CUSTOM_HEADERS")
    return headers


def _header_value(value: str, variable: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise ModelError(
            f"{variable} has characters that a header cannot carry; it may have been copied with a line break"
        )
    return value


def _timeout(milliseconds: str) -> float:
    return int(milliseconds) / 1000 if re.fullmatch(r"[1-9][0-9]{0,8}", milliseconds.strip()) else TIMEOUT
