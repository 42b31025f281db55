"""An MCP server that requires a sign-in, and its OAuth authorization server, on loopback.

The authorization server checks everything that a client must do right: registered redirect addresses, PKCE, codes and
refresh tokens that can be used once, the `resource` of each token. Its endpoints are not at the default paths.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import socket
import time
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

JsonObject = dict[str, Any]
ECHO = {"name": "echo", "description": "Echoes", "inputSchema": {"type": "object"}}


class OAuthSite:
    """Both servers. Use it with `async with`; `url` is the address of the MCP server.

    `seen` lists the requests by path, with their fields. Attributes change the behaviour: `lifetime` of access tokens
    in seconds, `denies` every sign-in, `registers` clients, the `scope` that clients must ask for, `errors` by path,
    `metadata` of the authorization server, `silent` paths that never answer.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[str, JsonObject]] = []
        self.lifetime: int | None = 3600
        self.denies = False
        self.registers = True
        self.scope = "vault"
        self.silent: set[str] = set()
        self._closing = asyncio.Event()
        self.errors: dict[str, tuple[int, JsonObject]] = {}
        self.metadata: JsonObject = {}
        self.clients: dict[str, JsonObject] = {}
        self.codes: dict[str, JsonObject] = {}
        self.tokens: dict[str, float] = {}
        self.refresh_tokens: dict[str, str] = {}
        self.sessions: set[str] = set()
        self.headers: list[dict[str, str]] = []

    async def __aenter__(self) -> OAuthSite:
        listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.url, self.issuer = f"{self.origin}/mcp", f"{self.origin}/login"
        routes = [
            Route("/mcp", self._mcp, methods=["GET", "POST", "DELETE"]),
            Route("/.well-known/oauth-protected-resource/mcp", self._resource),
            Route("/.well-known/oauth-authorization-server/login", self._metadata),
            Route("/login/clients", self._register, methods=["POST"]),
            Route("/login/page", self._page),
            Route("/login/tokens", self._token, methods=["POST"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False, lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        return self

    async def __aexit__(self, *error: object) -> None:
        self._closing.set()
        self._server.should_exit = True
        await self._serving

    def paths(self) -> list[str]:
        return [path for path, _ in self.seen]

    def grants(self) -> list[str]:
        return [fields["grant_type"] for path, fields in self.seen if path == "/login/tokens"]

    def revoke(self, *, refresh: bool = False) -> None:
        """Reject every access token issued so far, and the refresh tokens too."""
        self.tokens.clear()
        if refresh:
            self.refresh_tokens.clear()

    async def sign_in(self, address: str) -> str:
        """Act as a browser whose user signs in. Returns the address of the redirect."""
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(address)
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    # The MCP server

    async def _mcp(self, request: Request) -> Response:
        self.headers.append(dict(request.headers))
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.tokens.get(token, 0) < time.time():
            where = f'Bearer resource_metadata="{self.origin}/.well-known/oauth-protected-resource/mcp"'
            return JSONResponse({"error": "invalid_token"}, 401, {"WWW-Authenticate": where})
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        results: JsonObject = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "vault", "version": "1"},
            },
            "tools/list": {"tools": [ECHO]},
            "tools/call": {"content": [{"type": "text", "text": "from the vault"}]},
        }
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"], {})})

    async def _resource(self, request: Request) -> Response:
        return self._failed(request, {}) or JSONResponse(
            {"resource": self.url, "authorization_servers": [self.issuer], "scopes_supported": ["vault"]}
        )

    # The authorization server

    def _failed(self, request: Request, fields: JsonObject) -> Response | None:
        """Note a request, and answer with the error that the test has set for its path."""
        self.seen.append((request.url.path, fields))
        if error := self.errors.get(request.url.path):
            return JSONResponse(error[1], error[0])
        return None

    async def _metadata(self, request: Request) -> Response:
        registration = {"registration_endpoint": f"{self.issuer}/clients"} if self.registers else {}
        return self._failed(request, {}) or JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/page",
                "token_endpoint": f"{self.issuer}/tokens",
                "code_challenge_methods_supported": ["S256"],
                "response_types_supported": ["code"],
                "token_endpoint_auth_methods_supported": ["none"],
                **registration,
                **self.metadata,
            }
        )

    async def _register(self, request: Request) -> Response:
        fields = await request.json()
        if failed := self._failed(request, fields):
            return failed
        client = secrets.token_hex(8)
        self.clients[client] = fields
        return JSONResponse({**fields, "client_id": client}, 201)

    async def _page(self, request: Request) -> Response:
        fields = dict(request.query_params)
        client = self.clients.get(fields["client_id"])
        if client is None or fields["redirect_uri"] not in client["redirect_uris"]:
            return JSONResponse({"error": "invalid_request"}, 400)  # never redirected: the address is not trusted
        assert (fields["response_type"], fields["code_challenge_method"]) == ("code", "S256")
        assert (fields["resource"], fields["scope"]) == (self.url, self.scope)
        if self.denies:
            said = {"error": "access_denied", "state": fields["state"]}
        else:
            said = {"code": secrets.token_urlsafe(24), "state": fields["state"]}
            self.codes[said["code"]] = fields
        return RedirectResponse(f"{fields['redirect_uri']}?{urlencode(said)}", 302)

    async def _token(self, request: Request) -> Response:
        fields = dict(parse_qsl((await request.body()).decode()))
        if request.url.path in self.silent:
            await self._closing.wait()
        if failed := self._failed(request, fields):
            return failed
        assert fields["resource"] == self.url
        if fields["grant_type"] == "refresh_token":
            if self.refresh_tokens.pop(fields["refresh_token"], "") != fields["client_id"]:
                return JSONResponse({"error": "invalid_grant"}, 400)
            return self._issue(fields["client_id"])
        code = self.codes.pop(fields["code"], None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(fields["code_verifier"].encode()).digest()).decode().rstrip("=")
        if code is None or proof != code["code_challenge"] or fields["redirect_uri"] != code["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant", "error_description": fields["code"]}, 400)
        return self._issue(fields["client_id"])

    def _issue(self, client: str) -> Response:
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        self.tokens[access] = time.time() + (3600 if self.lifetime is None else self.lifetime)
        self.refresh_tokens[refresh] = client
        expires = {} if self.lifetime is None else {"expires_in": self.lifetime}
        return JSONResponse({"access_token": access, "token_type": "Bearer", "refresh_token": refresh, **expires})
