from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Response

from tests.browser.running import Running, running
from tests.openapi.explained import is_explained
from tests.openapi.hostile import Scope, send_requests

VIOLATIONS = {
    "status_code_conformance": Response(status_code=418),
    "not_a_server_error": Response(status_code=500),
    "content_type_conformance": Response("{}", media_type="text/plain"),
    "response_schema_conformance": Response("[]", media_type="application/json"),
}


def endpoint(answer: Response) -> Callable[[], Awaitable[Response]]:
    async def thing() -> Response:
        return answer

    return thing


def test_violations_are_detected_and_conforming_answers_pass() -> None:
    app = FastAPI()
    described: dict[int | str, dict[str, Any]] = {
        200: {"content": {"application/json": {"schema": {"type": "object"}}}}
    }
    for name, answer in {**VIOLATIONS, "good": Response("{}", media_type="application/json")}.items():
        app.get(f"/{name}", responses=described)(endpoint(answer))

    @asynccontextmanager
    async def application(_: Running) -> AsyncIterator[FastAPI]:
        yield app

    with running(Running, application) as service:
        found = send_requests(app.openapi(), service.url, "none", Scope(examples=2))
    assert {f"GET /{check}: {check}" for check in VIOLATIONS} <= found.failures.keys()
    assert [each for each in found.failures if each.startswith("GET /good")] == []
    assert found.statuses["GET /good", 200] > 0


def test_only_semantic_refusals_are_explained() -> None:
    assert is_explained({"code": "invalid_cursor", "errors": []})
    assert is_explained({"code": "invalid_shape", "errors": [{"code": "int_type"}]})
    assert not is_explained({"code": "invalid_shape", "errors": [{"code": "int_type"}, {"code": "string_too_long"}]})
    assert not is_explained({"code": "invalid_shape", "errors": []})
    assert not is_explained({"code": "internal_error"})
