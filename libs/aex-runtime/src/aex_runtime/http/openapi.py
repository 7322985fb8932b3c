"""The OpenAPI document, with problem documents as errors, and the page `/docs`, served locally."""

from functools import cache, partial
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response

from aex_runtime.http.problems import ProblemDetails
from aex_runtime.http.routing import Public, ServiceRoute

_METHODS = ("get", "put", "post", "delete", "patch")
_ASSETS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
_POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"
}
_START = 'SwaggerUIBundle({url: "openapi.json", dom_id: "#api", deepLinking: true});\n'
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


def install_openapi(app: FastAPI) -> None:
    """Replace `app.openapi` by a function that builds the document at its first call and keeps it.

    The document has `ProblemDetails` in place of FastAPI's validation errors, and parameters are never null.
    """
    app.openapi = cache(partial(_document, app))  # type: ignore[method-assign]  # as FastAPI documents


def _document(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
    schemas = schema.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["ProblemDetails"] = problem
    for operations in schema["paths"].values():
        for method in operations.keys() & _METHODS:
            for parameter in operations[method].get("parameters", ()):
                parameter["schema"] = _without_null(parameter["schema"])
    return schema


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter without null, which a URL and a header cannot express."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {**choices[0], **{name: value for name, value in schema.items() if name != "anyOf"}}


def docs_routes() -> APIRouter:
    """Return the routes of the documentation page, its files, and the OpenAPI document."""
    public = Depends(Public("documentation holds no data"))
    router = APIRouter(route_class=ServiceRoute, include_in_schema=False, dependencies=[public])

    @router.get("/openapi.json")
    async def document(request: Request) -> JSONResponse:
        return JSONResponse(request.app.openapi())

    @router.get("/docs")
    async def page() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers=_POLICY)

    @router.get("/docs/start.js")
    async def start() -> Response:
        return Response(_START, media_type="text/javascript")

    def add_asset(name: str, media_type: str) -> None:
        @router.get(f"/docs/{name}", name=name)
        async def asset() -> FileResponse:
            path = str(files("fastapi_offline") / "static" / name)
            return FileResponse(path, media_type=media_type, headers={"Cache-Control": "public, max-age=86400"})

    for each in _ASSETS.items():
        add_asset(*each)
    return router
