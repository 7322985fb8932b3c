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
    for operations in schema["paths"].values():
        for method in operations.keys() & _OPERATIONS:
            for parameter in operations[method].get("parameters", ()):
                parameter["schema"] = _without_null(parameter["schema"])
    return schema


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter can be left out, but nothing that is sent in a URL or a header is null."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {**choices[0], **{name: value for name, value in schema.items() if name != "anyOf"}}
