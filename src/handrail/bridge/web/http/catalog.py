"""Every route of the API, collected from the handler classes."""

from __future__ import annotations

from typing import Final

from handrail.bridge.web.http.commands import CommandRoutes
from handrail.bridge.web.http.defaults import DefaultRoutes
from handrail.bridge.web.http.devices import DeviceRoutes
from handrail.bridge.web.http.export import ExportRoutes
from handrail.bridge.web.http.files import FileRoutes
from handrail.bridge.web.http.folders import FolderRoutes
from handrail.bridge.web.http.history import HistoryRoutes
from handrail.bridge.web.http.login import LoginRoutes
from handrail.bridge.web.http.openapi import DocumentRoutes
from handrail.bridge.web.http.operations import OperationRoutes
from handrail.bridge.web.http.route import Route, routes_of
from handrail.bridge.web.http.sessions import SessionRoutes
from handrail.bridge.web.http.uploads import UploadRoutes
from handrail.bridge.web.http.wire import WireRoutes

__all__ = ["ROUTES"]

ROUTES: Final[list[Route]] = routes_of(
    CommandRoutes,
    DefaultRoutes,
    DeviceRoutes,
    ExportRoutes,
    FileRoutes,
    FolderRoutes,
    HistoryRoutes,
    LoginRoutes,
    DocumentRoutes,
    OperationRoutes,
    SessionRoutes,
    UploadRoutes,
    WireRoutes,
)
