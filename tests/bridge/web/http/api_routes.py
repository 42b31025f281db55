"""Every route of the API, collected from the handler classes of `bridge/web/http`."""

from __future__ import annotations

import importlib
import pkgutil

from handrail.bridge.web import http
from handrail.bridge.web.http.route import routes_of

_MODULES = [importlib.import_module(f"{http.__name__}.{one.name}") for one in pkgutil.iter_modules(http.__path__)]
ROUTES = routes_of(
    *(
        value
        for module in _MODULES
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    )
)
