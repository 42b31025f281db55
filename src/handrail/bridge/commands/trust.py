"""Workspace trust: whether a folder's own settings, hooks and MCP servers are in force."""

from __future__ import annotations

from typing import Any

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.host import SessionHost
from handrail.settings import Standing, TrustError, accept, config_home, look

__all__ = ["Trust"]


class Trust:
    """Reads and accepts the trust of folders, for the user who runs the server."""

    def standing(self, folder: str) -> Standing:
        """The contents that the folder's files would run, and whether the user has accepted exactly these."""
        return look(folder, config_home())

    def question(self, folder: str) -> dict[str, Any] | None:
        """The contents for a client to show before it accepts the folder; None if it is trusted."""
        standing = self.standing(folder)
        if standing.trusted:
            return None
        items = [
            {"kind": one.kind, "name": one.name, "text": one.text, "path": one.path, "line": one.line}
            for one in standing.contents.items
        ]
        return {"digest": standing.contents.digest, "items": items, "complete": standing.contents.complete}

    async def accept(self, host: SessionHost, digest: str) -> None:
        """Accept the files that were shown. An idle session restarts with them. Raises CommandRefused."""
        standing = self.standing(host.record.cwd)
        if standing.contents.digest != digest:
            raise CommandRefused("changed", "the folder's files have changed since they were shown; review them again")
        try:
            accept(standing.contents, config_home())
        except TrustError as error:
            raise CommandRefused("failed", str(error)) from None
        if host.state() == "idle":
            await host.stop()
        host.change(trusted=True)
