"""HTTP requests to the API, with answers that are read while they arrive.

This uses httpcore2, on which httpx2 is built. The rest of httpx2 is for cookies, forms and redirects; an API needs none
of them, and they would add a tenth to the memory of an idle agent.
"""

from __future__ import annotations

import sys
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from types import ModuleType
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from handrail.agent.models.api_errors import unreached
from handrail.agent.models.base import ModelError, StreamCut

if TYPE_CHECKING:
    import ssl

    import httpcore2

    from handrail.agent.models.api_access import ApiAccess

__all__ = ["HttpAnswer", "HttpClient"]

CONNECT_TIMEOUT: Final = 30.0
_METADATA: Final = "importlib.metadata"


class HttpAnswer:
    """Status and headers of an answer, whose body is read in chunks. Names of headers are in lower case."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response
        self.status = response.status
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}

    @property
    def request_id(self) -> str:
        return self.headers.get("request-id", "")

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it arrives. Raises StreamCut if the connection fails."""
        unpack = _unpacked(self.headers.get("content-encoding", ""))
        chunks = self._response.aiter_stream()
        try:
            async for chunk in chunks:
                if unpacked := unpack(chunk):
                    yield unpacked
        except _failures() as error:
            raise StreamCut(unreached(error).message, request_id=self.request_id) from None
        finally:
            await chunks.aclose()

    async def first(self, most: int) -> bytes:
        """The first `most` bytes of the body. Raises StreamCut if the connection fails."""
        read = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                read += chunk
                if len(read) >= most:
                    break
        return bytes(read[:most])

    async def close(self) -> None:
        """Give up what was not read."""
        await self._response.aclose()


class HttpClient:
    """Connections to the API, which are reused."""

    def __init__(self, access: ApiAccess) -> None:
        """Raises ModelError if a certificate or the proxy cannot be used."""
        _import_httpcore()
        import httpcore2

        address = urlsplit(access.url)
        self._path = quote(address.path, safe="/%:@!$&'()*+,;=~-._")
        self._url = f"{address.scheme}://{_host(address)}"
        self._headers = {"host": _host(address), "accept": "*/*", "accept-encoding": "gzip, deflate"}
        if address.username is not None:
            self._headers["authorization"] = _basic(address)
        self._timeout = {
            "connect": min(CONNECT_TIMEOUT, access.timeout),
            "read": access.timeout,
            "write": access.timeout,
            "pool": access.timeout,
        }
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_tls(access),
            proxy=_proxy(access.proxy) if access.proxy else None,
            max_connections=64,
            max_keepalive_connections=8,
            keepalive_expiry=60,
        )

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> HttpAnswer:
        """Send a request; the caller closes the answer. Raises ModelError if there is none."""
        import httpcore2

        fields = {**self._headers, **{name.lower(): value for name, value in headers.items()}}
        fields["content-length"] = str(len(body))
        request = httpcore2.Request(
            method,
            f"{self._url}{self._path}{path}",
            headers=[(name.encode("ascii"), value.encode()) for name, value in fields.items()],
            content=body,
            extensions={"timeout": self._timeout},
        )
        try:
            return HttpAnswer(await self._pool.handle_async_request(request))
        except _failures() as error:
            raise unreached(error) from None

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


def _import_httpcore() -> None:
    """Import httpcore2 without `importlib.metadata`.

    It would ask for its own version, for which the parser of e-mails and the reader of zip files are loaded: a
    fifteenth of the memory of an idle agent.
    """
    if "httpcore2" in sys.modules or _METADATA in sys.modules:
        return
    sys.modules[_METADATA] = metadata = ModuleType(_METADATA)
    metadata.version = lambda _: ""  # type: ignore[attr-defined]
    try:
        import httpcore2  # noqa: F401 # pyright: ignore[reportUnusedImport]
    finally:
        del sys.modules[_METADATA]


def _failures() -> tuple[type[Exception], ...]:
    """Everything that a failed connection raises."""
    import httpcore2

    return (
        httpcore2.NetworkError,
        httpcore2.TimeoutException,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
        zlib.error,
    )


def _unpacked(encoding: str) -> Callable[[bytes], bytes]:
    """A function that unpacks the chunks of a body."""
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return bytes
    return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress  # of either kind, which its first bytes tell


def _tls(access: ApiAccess) -> ssl.SSLContext | None:
    """The trusted certificates. Loading them takes long, and plain HTTP needs none."""
    if access.url.startswith("http:") and not access.proxy:
        return None
    if not access.certificates:
        import httpcore2

        return httpcore2.default_ssl_context()
    import ssl

    context = ssl.create_default_context()
    for path in access.certificates:
        try:
            context.load_verify_locations(path)
        except (OSError, ssl.SSLError):
            raise ModelError(f"cannot read certificates from {path}") from None
    return context


def _proxy(url: str) -> httpcore2.Proxy:
    import httpcore2

    try:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError
        plain = f"{address.scheme}://{_host(address)}"
    except ValueError:
        raise ModelError("the proxy of the environment is not a valid address; check HTTPS_PROXY") from None
    headers = [] if address.username is None else [("proxy-authorization", _basic(address))]
    return httpcore2.Proxy(plain, headers=headers)


def _host(address: SplitResult) -> str:
    """Host and port in ASCII. Raises ValueError."""
    host = (address.hostname or "").encode("idna").decode()
    port = "" if address.port is None else f":{address.port}"
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"


def _basic(address: SplitResult) -> str:
    """The name and password of an address as a header."""
    pair = f"{unquote(address.username or '')}:{unquote(address.password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"
