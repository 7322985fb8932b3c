"""The OpenAPI document as callers meet the service: problems for errors, a bearer token for everything but probes."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from aex_runtime.http.problems import ProblemDetails

_OPERATIONS = ("get", "put", "post", "delete", "patch")


def describe_api(app: FastAPI) -> None:
    """Make `app.openapi()` tell what is answered: FastAPI's own shape of a 422 is replaced by ours."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the way FastAPI's documentation tells to


def _document(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
    schemas = schema.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["ProblemDetails"] = problem
    return schema
