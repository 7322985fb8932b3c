"""`/docs`: Swagger UI from files of our own installation; no page of ours loads anything from elsewhere."""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Depends
from fastapi.responses import FileResponse, HTMLResponse, Response

from aex_runtime.http.routing import Public, ServiceRoute

_ASSETS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
_POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"
}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>AEX Outcomes API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = 'SwaggerUIBundle({url: "openapi.json", dom_id: "#api", deepLinking: true});\n'


def docs_routes() -> APIRouter:
    """The page and what it loads."""
    router = APIRouter(
        route_class=ServiceRoute,
        include_in_schema=False,
        dependencies=[Depends(Public("documentation holds no data"))],
    )

    @router.get("/docs")
    async def page() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers=_POLICY)

    @router.get("/docs/start.js")
    async def start() -> Response:
        return Response(_START, media_type="text/javascript")

    for name, media_type in _ASSETS.items():
        router.add_api_route(f"/docs/{name}", _asset(name, media_type), name=name)
    return router


def _asset(name: str, media_type: str) -> Callable[[], Awaitable[FileResponse]]:
    path = Path(str(files("fastapi_offline") / "static" / name))

    async def asset() -> FileResponse:
        return FileResponse(path, media_type=media_type, headers={"Cache-Control": "public, max-age=86400"})

    return asset
