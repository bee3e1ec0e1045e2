"""The HTTP server: REST under /api, recipes, events; `create_app` for any ASGI server, `serve` to run one."""

from weft.server.app import create_app
from weft.server.auth import ServerSettings
from weft.server.lifecycle import serve

__all__ = ["ServerSettings", "create_app", "serve"]
