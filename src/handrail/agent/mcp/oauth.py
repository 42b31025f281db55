"""Sign-in to an MCP server with OAuth: discovery, client registration and token exchange by the `mcp` package.

The user opens an address in a browser. The browser is then redirected to a listener on this machine, or to an address
of the host, which passes it on with `mcp_oauth_callback_url`. The server chooses the authorization server, so its
addresses are checked: a server on the internet cannot make the agent send requests into a private network.

Importing this module loads the `mcp` package; import it when a sign-in begins.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from handrail.agent.errors import McpError
from handrail.agent.mcp.config import ServerConfig
from handrail.agent.mcp.content import clean
from handrail.agent.mcp.credentials import Credentials, CredentialStore, expiry
from handrail.agent.mcp.http_channel import bounded_stream
from handrail.agent.mcp.rpc import PROTOCOL
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.web_address import find_target, parse_address

__all__ = ["RegistrationRefused", "SignIn", "check_endpoint"]

BEGIN_LIMIT: Final = 25.0
"""Seconds until the address must be known; the bridge waits 30."""
SIGN_IN_LIMIT: Final = 600.0
"""Seconds that the user has to sign in."""
REQUEST_LIMIT: Final = 20.0
HEAD_LIMIT: Final = 16 * 1024
LONGEST_ADDRESS: Final = 8192
_ERROR_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_REDIRECT_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s#\x00-\x1f\x7f]+")
_PAGE: Final = (
    '<!doctype html><meta charset="utf-8"><title>Handrail</title>'
    "<style>body{{font:1rem system-ui;margin:4rem auto;max-width:36rem}}</style><p>{}</p>"
)


class RegistrationRefused(McpError):
    """The authorization server did not register a client with this redirect address."""


class SignIn:
    """One sign-in to one server.

    `connect` is called after the tokens are stored, `failed` with the reason of a failure. Without `redirect_uri` the
    browser is redirected to a listener on loopback.
    """

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        store: CredentialStore,
        *,
        connect: Callable[[], Awaitable[None]],
        failed: Callable[[str], None],
        redirect_uri: str = "",
    ) -> None:
        if redirect_uri and (len(redirect_uri) > LONGEST_ADDRESS or not _REDIRECT_URI.fullmatch(redirect_uri)):
            raise McpError("redirectUri is not an absolute address without a fragment")
        self._name, self._config, self._store = name, config, store
        self._connect, self._failed = connect, failed
        self._redirect_uri = redirect_uri
        self._listener: asyncio.Server | None = None
        self._visits: set[asyncio.Task[Any]] = set()
        self._task: asyncio.Task[None] | None = None
        self._address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._redirect: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self.state = ""
        self.port = 0
        """The port of the listener; 0 if the host receives the redirect."""
        self._problem = ""
        """The last error answer of the authorization server: HTTP status and error code."""

    async def begin(self) -> str:
        """Start and return the address to open; "" if the server requires no sign-in. Raises McpError."""
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # the package logs answers with tracebacks
        if not self._redirect_uri:
            await self._listen()
        task = self._task = asyncio.create_task(self._run())
        task.add_done_callback(self._report)
        await asyncio.wait([task, self._address], timeout=BEGIN_LIMIT, return_when=asyncio.FIRST_COMPLETED)
        if self._address.done():
            return self._address.result()
        if not task.done():
            await self.cancel()
            raise McpError(f"{self._where()} did not answer within {BEGIN_LIMIT:g} seconds")
        task.result()
        return ""

    def _report(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._failed(f"the sign-in failed: {error}")

    @property
    def is_pending(self) -> bool:
        """Whether it waits for the browser's redirect."""
        return bool(self.state) and not self._redirect.done()

    def redirected(self, address: str) -> None:
        """Take the address to which the browser was redirected. Raises McpError; the sign-in then keeps waiting."""
        try:
            query = parse_qs(urlsplit(address).query)
        except ValueError:
            query = {}
        code, refusal, state, issuer = (query.get(key, [""])[0] for key in ("code", "error", "state", "iss"))
        if not code and not refusal:
            raise McpError("the callback URL has neither a code nor an error; pass the whole address of the browser")
        if not self.state or not secrets.compare_digest(state.encode("utf-8", "replace"), self.state.encode()):
            raise McpError("the callback URL belongs to another sign-in (its state differs); this one is still pending")
        if self._redirect.done():
            raise McpError("the callback URL was already used")
        if refusal:
            self._redirect.set_exception(
                McpError(f"{self._where()} refused the sign-in: {_code(refusal) or 'no reason'}")
            )
            return
        self._redirect.set_result(AuthorizationCodeResult(code=code, state=state, iss=issuer or None))

    async def finished(self) -> None:
        """Wait for the tokens and the connection. Raises McpError."""
        assert self._task is not None
        await asyncio.wait([self._task])
        if self._task.cancelled():
            raise McpError("the sign-in was cancelled")
        self._task.result()

    async def cancel(self) -> None:
        """End the sign-in and close its listener."""
        tasks = [*self._visits, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._close()

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if not self._redirect.cancel() and not self._redirect.cancelled():
            self._redirect.exception()

    # The flow

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(SIGN_IN_LIMIT):
                await self._obtain_tokens()
        except TimeoutError:
            raise McpError(f"the sign-in was not finished within {SIGN_IN_LIMIT / 60:g} minutes") from None
        except (McpError, asyncio.CancelledError):
            raise
        except Exception as error:
            raise self._explained(error) from None
        finally:
            self._close()
        await self._connect()

    async def _obtain_tokens(self) -> None:
        kept = _Kept(self._config.oauth.client_id, self._redirect_uri)
        provider = OAuthClientProvider(
            self._config.url,
            OAuthClientMetadata(
                client_name="Handrail",
                redirect_uris=[AnyUrl(self._redirect_uri)],
                token_endpoint_auth_method="none",  # noqa: S106 - a public client, which PKCE protects
                application_type="web" if self._redirect_uri.startswith("https://") else "native",
            ),
            kept,
            redirect_handler=self._open,
            callback_handler=self._wait_for_redirect,
        )
        hooks: dict[str, list[Callable[..., Any]]] = {"request": [self._check_request], "response": [self._note_answer]}
        async with httpx2.AsyncClient(timeout=REQUEST_LIMIT, auth=provider, event_hooks=hooks) as client:
            status = await self._knock(client)
        if kept.tokens is None:
            if status in (401, 403):
                raise McpError(f"the server answered HTTP {status} and offers no sign-in with OAuth")
            return
        if status == 401:
            raise McpError("the server rejected the new token (HTTP 401)")
        await self._store.save(_credentials(provider, kept))

    async def _knock(self, client: httpx2.AsyncClient) -> int:
        """Send the server a harmless request, so that it asks for a token. Returns the status of the last answer."""
        headers = {**self._config.headers, "MCP-Protocol-Version": PROTOCOL}
        if self._config.kind == "sse":
            sending = client.stream("GET", self._config.url, headers={**headers, "Accept": "text/event-stream"})
        else:
            headers["Accept"] = "application/json, text/event-stream"
            ping = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
            sending = client.stream("POST", self._config.url, headers=headers, json=ping)
        async with sending as response:
            return response.status_code

    async def _open(self, address: str) -> None:
        """Publish the address at which the user signs in."""
        await check_endpoint(address, self._config.url)
        if len(address) > LONGEST_ADDRESS or not address.isascii() or not address.isprintable() or " " in address:
            raise McpError(f"{self._where()} has an invalid sign-in address")
        self.state = parse_qs(urlsplit(address).query).get("state", [""])[-1]
        if not self._address.done():
            self._address.set_result(address)

    async def _wait_for_redirect(self) -> AuthorizationCodeResult:
        return await self._redirect

    async def _check_request(self, request: httpx2.Request) -> None:
        await check_endpoint(str(request.url), self._config.url)
        # The client sets its own timeout only on the request that it was asked to send.
        request.extensions.setdefault("timeout", httpx2.Timeout(REQUEST_LIMIT).as_dict())

    def _where(self) -> str:
        return f"the authorization server of {clean(self._name, 80)}"

    # Errors

    async def _note_answer(self, response: httpx2.Response) -> None:
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = bounded_stream(response.stream)
        if str(response.request.url) == self._config.url:
            self._ask_for_scopes(response)
            return
        if response.status_code < 400:
            return
        self._problem = f"HTTP {response.status_code}"
        try:
            answer = msgspec.json.decode(await response.aread(), type=dict[str, Any])
        except (msgspec.MsgspecError, ValueError):
            return
        if code := _code(answer.get("error")):
            self._problem += f", {code}"

    def _ask_for_scopes(self, response: httpx2.Response) -> None:
        """Put the configured scopes into the server's challenge, which decides before all else what is asked for."""
        if response.status_code == 401 and (scopes := self._config.oauth.scopes):
            given = response.headers.get("WWW-Authenticate", "").removeprefix("Bearer").strip()
            response.headers["WWW-Authenticate"] = ", ".join(filter(None, (f'Bearer scope="{scopes}"', given)))

    def _explained(self, error: Exception) -> McpError:
        """The error for the host. Texts of the package may quote whole answers, so only safe parts are used."""
        said = f" ({self._problem})" if self._problem else ""
        if isinstance(error, OAuthRegistrationError):
            return RegistrationRefused(
                f"{self._where()} did not register a client{said}; if you have registered one by hand, set "
                "oauth.clientId and oauth.callbackPort of the server"
            )
        if isinstance(error, OAuthTokenError):
            return McpError(f"{self._where()} did not issue a token{said}")
        if isinstance(error, OAuthFlowError):
            return McpError(clean(str(error), 300))
        if isinstance(error, httpx2.HTTPError):
            return McpError(f"{self._where()} cannot be reached: {type(error).__name__}")
        if isinstance(error, (ValidationError, ValueError)):
            return McpError(f"{self._where()} sent an invalid answer{said}")
        return McpError(f"unexpected {type(error).__name__}{said}")

    # The listener

    async def _listen(self) -> None:
        port = self._config.oauth.callback_port
        try:
            self._listener = await asyncio.start_server(self._visited, "127.0.0.1", port, limit=HEAD_LIMIT)
        except OSError as error:
            raise McpError(f"port {port} for the redirect of the browser cannot be used: {error.strerror}") from None
        self.port = self._listener.sockets[0].getsockname()[1]
        # By name, because clients registered by hand have it in this form.
        self._redirect_uri = f"http://localhost:{self.port}/callback"

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        task.add_done_callback(self._visits.discard)
        try:
            async with asyncio.timeout(REQUEST_LIMIT):
                head = await reader.readuntil(b"\r\n\r\n")
            verb, _, rest = head.decode("latin-1").partition(" ")
            status, text = await self._answer_visit(verb, rest.partition(" ")[0])
            writer.write(_answer(status, text))
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _answer_visit(self, verb: str, target: str) -> tuple[str, str]:
        if verb != "GET" or urlsplit(target).path != "/callback":
            return "404 Not Found", "Not found."
        try:
            self.redirected(urljoin("http://localhost", target))
        except McpError as error:
            return "400 Bad Request", f"Not signed in: {error}."
        try:
            await self.finished()
        except McpError as error:
            return "200 OK", f"Not signed in to {self._name}: {error}."
        return "200 OK", f"Signed in to {self._name}. You can close this page."


class _Kept:
    """The package's storage during one sign-in. Nothing old is used: the user may choose another account."""

    def __init__(self, client_id: str, redirect_uri: str) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        if client_id:
            self.client = OAuthClientInformationFull(
                client_id=client_id,
                redirect_uris=[AnyUrl(redirect_uri)],
                token_endpoint_auth_method="none",  # noqa: S106
            )

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def _credentials(provider: OAuthClientProvider, kept: _Kept) -> Credentials:
    context, tokens, client = provider.context, kept.tokens, kept.client
    assert tokens is not None
    assert client is not None
    metadata = context.oauth_metadata
    endpoint = str(metadata.token_endpoint) if metadata else urljoin(context.server_url, "/token")
    return Credentials(
        access_token=tokens.access_token,
        client_id=client.client_id,
        client_secret=client.client_secret or "",
        client_auth=client.token_endpoint_auth_method or "",
        issuer=str(metadata.issuer) if metadata else "",
        refresh_token=tokens.refresh_token or "",
        expires_at=expiry(tokens.expires_in),
        token_endpoint=endpoint,
        resource=context.get_resource_url() if context.should_include_resource_param(PROTOCOL) else "",
    )


async def check_endpoint(address: str, server: str) -> None:
    """Raise McpError unless a server may name this address for its sign-in.

    It must use https, and may be in a private network only if the server is in one too. A private server without https,
    such as one on loopback, may name private addresses without https.
    """
    parts, own = urlsplit(address), urlsplit(server)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return
    private = await _is_private(address.partition("?")[0])
    near = private and await _is_private(server)
    if private and not near:
        raise McpError(f"the server names {clean(parts.netloc, 100)} for its sign-in, which is a private address")
    if parts.scheme != "https" and not (near and own.scheme == "http"):
        raise McpError(f"the server names {clean(parts.netloc, 100)} for its sign-in, which does not use https")


async def _is_private(address: str) -> bool:
    """Whether a host has an address that is not public. A name that cannot be resolved here is left to the proxy."""
    try:
        parts = parse_address(address)
    except ToolFailed as error:
        raise McpError(f"the server names an invalid address for its sign-in: {error}") from None
    try:
        return (await find_target(parts, private_allowed=True)).private
    except ToolFailed:
        return False


def _code(error: Any) -> str:
    """An OAuth error code; "" for other values, which may quote anything."""
    return error if isinstance(error, str) and _ERROR_CODE.fullmatch(error) else ""


def _answer(status: str, text: str) -> bytes:
    body = _PAGE.format(html.escape(text)).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
