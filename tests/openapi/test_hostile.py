import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Response

from tests.e2e.jobs import eventually
from tests.libs.cli.suites import free_ports
from tests.openapi.explained import is_explained
from tests.openapi.hostile import Answers, Scope, send_requests


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    port = free_ports(1)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started or None, what="the server")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def answers_of(answer: Response, **described: Any) -> Answers:
    app = FastAPI()

    @app.get("/thing", responses={200: {"content": {"application/json": {"schema": described}}}})
    async def thing() -> Response:
        return answer

    with served(app) as url:
        return send_requests(app.openapi(), url, "none", Scope(examples=2))


def test_conforming_service_passes() -> None:
    found = answers_of(Response("{}", media_type="application/json"), type="object")
    assert found.failures == {}
    assert found.by_status()[200] > 0


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        (Response(status_code=418), "status_code_conformance"),
        (Response(status_code=500), "not_a_server_error"),
        (Response("{}", media_type="text/plain"), "content_type_conformance"),
        (Response("[]", media_type="application/json"), "response_schema_conformance"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_violations_are_detected(answer: Response, check: str) -> None:
    found = answers_of(answer, type="object")
    assert f"GET /thing: {check}" in found.failures


def test_only_semantic_refusals_are_explained() -> None:
    assert is_explained({"code": "invalid_cursor", "errors": []})
    assert is_explained({"code": "invalid_shape", "errors": [{"code": "int_type"}]})
    assert not is_explained({"code": "invalid_shape", "errors": [{"code": "int_type"}, {"code": "string_too_long"}]})
    assert not is_explained({"code": "invalid_shape", "errors": []})
    assert not is_explained({"code": "internal_error"})
