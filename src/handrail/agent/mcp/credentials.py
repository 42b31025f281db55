"""OAuth credentials of MCP servers: stored in private files, sent as bearer tokens, refreshed when they expire.

    CONFIG HOME/handrail/mcp-credentials/<sha256 of the server's name and address>.json     0600

Credentials belong to a name and an address together, so another server never receives them. They appear in no log, no
transcript and no answer to the host.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
import msgspec
from msgspec.structs import replace

from handrail.agent.errors import McpError
from handrail.settings.private_file import PrivateFileError, forget, read_private, state_folder, write_private

__all__ = ["BearerAuth", "CredentialStore", "Credentials", "is_oauth_request"]

EARLY: Final = 30.0
"""Seconds before its end at which an access token is refreshed."""
REFRESH_LIMIT: Final = 20.0
_OAUTH: Final = "handrail_oauth"
"""The extension that marks requests to the authorization server."""


class Credentials(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tokens for one server, and the registered client that may refresh them."""

    access_token: str
    client_id: str
    client_secret: str = ""
    client_auth: str = ""
    """How the client authenticates at the token endpoint: none, client_secret_post or client_secret_basic."""
    issuer: str = ""
    refresh_token: str = ""
    expires_at: float | None = None
    token_endpoint: str = ""
    resource: str = ""

    def __repr__(self) -> str:
        return f"Credentials(issuer={self.issuer!r})"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and time.time() > self.expires_at - EARLY

    @property
    def can_refresh(self) -> bool:
        return bool(self.refresh_token and self.token_endpoint)


class CredentialStore:
    """The credentials of one server. Files that others could have written are ignored."""

    def __init__(self, config_home: str, server: str, url: str) -> None:
        key = hashlib.sha256(f"{server}\0{url}".encode("utf-8", "surrogatepass")).hexdigest()
        self._path: Path = state_folder(config_home) / "mcp-credentials" / f"{key}.json"

    def load(self) -> Credentials | None:
        """The stored credentials; None if the file is missing or unusable."""
        try:
            data = read_private(self._path)
            return None if data is None else msgspec.json.decode(data, type=Credentials)
        except (PrivateFileError, msgspec.MsgspecError, ValueError):
            return None

    async def save(self, credentials: Credentials) -> None:
        """Write them to disk. Raises McpError."""
        try:
            await asyncio.to_thread(write_private, self._path, msgspec.json.encode(credentials))
        except PrivateFileError as error:
            raise McpError(f"the tokens cannot be stored: {error}") from None

    def forget(self) -> bool:
        """Delete them. Returns whether there were any; raises McpError."""
        try:
            return forget(self._path)
        except PrivateFileError as error:
            raise McpError(f"the tokens cannot be deleted: {error}") from None


def is_oauth_request(request: httpx2.Request) -> bool:
    """Whether this is a request to the authorization server, not to the MCP server."""
    return _OAUTH in request.extensions


class BearerAuth(httpx2.Auth):
    """Adds the stored access token to requests and refreshes it. Never starts a sign-in.

    The file is read for every request, so a sign-in or a refresh by another session on this machine counts at once.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        self._refreshing = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        used = self._store.load()
        if used is not None and used.is_expired and used.can_refresh:
            async with self._refreshing:
                used = self._store.load()
                if used is not None and used.is_expired and used.can_refresh:
                    used = await self._take_tokens(used, (yield _refresh_request(used)))
        if used is None:
            yield request
            return
        request.headers["Authorization"] = f"Bearer {used.access_token}"
        response = yield request
        if response.status_code != 401:
            return
        # The token was revoked, or expired without notice. Another task may have refreshed it in the meantime.
        async with self._refreshing:
            now = self._store.load()
            if now is not None and now.access_token == used.access_token and now.can_refresh:
                now = await self._take_tokens(now, (yield _refresh_request(now)))
        if now is not None and now.access_token != used.access_token:
            request.headers["Authorization"] = f"Bearer {now.access_token}"
            yield request

    async def _take_tokens(self, old: Credentials, response: httpx2.Response) -> Credentials | None:
        """Store the tokens of a refresh. A refused refresh deletes the old ones; after a server error they stay."""
        await response.aread()
        if response.status_code == 200:
            try:
                answer = msgspec.json.decode(response.content, type=_TokenAnswer)
            except (msgspec.MsgspecError, ValueError):
                return old
            new = replace(
                old,
                access_token=answer.access_token,
                refresh_token=answer.refresh_token or old.refresh_token,
                expires_at=expiry(answer.expires_in),
            )
            await self._store.save(new)
            return new
        if 400 <= response.status_code < 500 and response.status_code not in (408, 429):
            current = self._store.load()
            if current is None or current.refresh_token != old.refresh_token:
                return current  # another session used the refresh token first
            self._store.forget()
            return None
        return old


class _TokenAnswer(msgspec.Struct):
    access_token: str
    refresh_token: str | None = None
    expires_in: float | str | None = None


def expiry(seconds: Any) -> float | None:
    """The time at which a token of this lifetime expires; None if it does not say."""
    try:
        return time.time() + float(seconds) if seconds is not None else None
    except (TypeError, ValueError):
        return None


def _refresh_request(held: Credentials) -> httpx2.Request:
    form = {"grant_type": "refresh_token", "refresh_token": held.refresh_token, "client_id": held.client_id}
    headers = {"Accept": "application/json"}
    if held.resource:
        form["resource"] = held.resource
    if held.client_auth == "client_secret_basic" and held.client_secret:
        pair = f"{quote(held.client_id, safe='')}:{quote(held.client_secret, safe='')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    elif held.client_auth == "client_secret_post" and held.client_secret:
        form["client_secret"] = held.client_secret
    # A client sets its own timeout only on the request that it was asked to send.
    timeout = httpx2.Timeout(REFRESH_LIMIT).as_dict()
    extensions = {_OAUTH: True, "timeout": timeout}
    return httpx2.Request("POST", held.token_endpoint, data=form, headers=headers, extensions=extensions)
