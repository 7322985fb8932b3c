from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from structlog.testing import capture_logs

from aex_models.frozen import Frozen
from aex_models.work import Problem
from aex_runtime import errors
from aex_runtime.blobs.port import BlobMissing, BlobUnavailable
from aex_runtime.bus.port import BusUnavailable
from aex_runtime.http.auth import ANYONE, Allow
from aex_runtime.http.problems import DOMAIN_STATUS, VENDOR_ERRORS, validation_problems
from aex_runtime.store.port import AlreadyExists, Contention, StoreUnavailable
from aex_runtime.store.table import RecordOfNewerVersion
from tests.libs.runtime.http.sample import Sample, sample

RAISED: dict[str, tuple[Exception, int, str, str | None]] = {
    "invalid": (errors.InvalidRequest("odd", "m", [Problem(path="/a", code="c", message="m")]), 400, "odd", None),
    "unknown": (errors.Unauthenticated("who", "m"), 401, "who", None),
    "forbidden": (errors.Forbidden("no", "m"), 403, "no", None),
    "missing": (errors.NotFound("gone", "m"), 404, "gone", None),
    "conflict": (errors.Conflict("state", "m"), 409, "state", None),
    "conflict-later": (errors.Conflict("state", "m", retry_after_s=7), 409, "state", "7"),
    "large": (errors.TooLarge("large", "m"), 413, "large", None),
    "shape": (errors.Unprocessable("shape", "m"), 422, "shape", None),
    "often": (errors.RateLimited("often", "m", retry_after_s=30), 429, "often", "30"),
    "down": (errors.TemporarilyUnavailable("down", "m"), 503, "down", "1"),
    "store": (StoreUnavailable("/var/secret.db"), 503, "store_unavailable", "1"),
    "newer": (RecordOfNewerVersion("works/w1: x"), 503, "record_of_newer_version", "1"),
    "contention": (Contention("lost"), 503, "store_unavailable", "1"),
    "bus": (BusUnavailable("x"), 503, "bus_unavailable", "1"),
    "blobs": (BlobUnavailable("x"), 503, "blobs_unavailable", "1"),
    "blob": (BlobMissing("x"), 404, "not_found", None),
    "exists": (AlreadyExists("things", "key"), 409, "already_exists", None),
    "surprise": (RuntimeError("CANARY in /var/lib"), 500, "internal_error", None),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    def extra(router: APIRouter) -> None:
        @router.get("/raise/{name}", dependencies=[Depends(Allow(*ANYONE))])
        async def raises(name: str) -> None:
            raise RAISED[name][0]

    return sample(tmp_path_factory.mktemp("shared"), extra=extra)


@pytest.mark.parametrize("name", RAISED)
async def test_error_has_its_status_and_code(shared: Sample, name: str) -> None:
    error, status, code, retry_after = RAISED[name]
    async with shared.client() as client:
        answer = await client.get(f"/v1/raise/{name}")
    document = answer.json()
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers.get("retry-after") == retry_after
    assert set(document) == {"type", "title", "status", "detail", "code", "errors", "request_id"}
    assert (document["status"], document["code"]) == (status, code)
    assert document["type"] == f"urn:aex:problem:{code}"
    assert document["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text
    assert document["errors"] == [problem.model_dump() for problem in getattr(error, "errors", ())]


async def test_unexpected_error_is_logged_and_not_answered(shared: Sample) -> None:
    with capture_logs() as lines:
        async with shared.client() as client:
            answer = await client.get("/v1/raise/surprise", headers={"X-Request-Id": "req-7"})
    assert "CANARY" not in answer.text
    logged = next(line for line in lines if line["event"] == "unexpected_error")
    assert logged["log_level"] == "error"
    assert logged["traceback"][0]["type"] == "builtins.RuntimeError"
    assert "test_problems.py" in logged["traceback"][0]["frames"][-1]
    assert "CANARY" not in str(logged)
    assert logged["route"] == "/v1/raise/{name}"


async def test_unknown_route_and_wrong_method_are_problems(shared: Sample) -> None:
    async with shared.client(role=None) as client:
        document = (await client.get("/v2/nothing")).json()
        answer = await client.delete("/v1/notes")
    assert (document["status"], document["code"]) == (404, "no_such_route")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({}, 422, [("/text", "missing")]),
        ({"text": 5}, 422, [("/text", "string_type")]),
        ({"text": "x", "colour": "red"}, 422, [("/colour", "extra_forbidden")]),
        ({"text": "x", "a/b~": 1}, 422, [("/a~1b~0", "extra_forbidden")]),
        ({"text": "x", "stars": "5"}, 422, [("/stars", "int_type")]),
        ([], 422, [("", "model_attributes_type")]),
        (None, 422, [("", "missing")]),
        ({"text": 5, "success_criteria": 7}, 400, [("/text", "string_type"), ("/success_criteria", "model_type")]),
    ],
)
async def test_shape_errors_have_json_pointers(
    shared: Sample, body: Any, status: int, expected: list[tuple[str, str]]
) -> None:
    async with shared.client() as client:
        answer = await client.post("/v1/notes", json=body)
    assert answer.status_code == status
    pointers = [(problem["path"], problem["code"]) for problem in answer.json()["errors"]]
    assert [path for path, _ in pointers] == [path for path, _ in expected]


async def test_problems_never_repeat_the_body(shared: Sample) -> None:
    bodies: list[Any] = [
        {"text": ["CANARY"]},
        {"text": "x", "stars": "CANARY"},
        {"text": "x", "score": "CANARY"},
        "CANARY",
        {"text": "x", "success_criteria": {"criteria": [{"metric": "CANARY metric"}], "aggregation": "CANARY"}},
        {"text": "x", "success_criteria": {"criteria": "CANARY", "minimum_weighted_score": "CANARY"}},
    ]
    async with shared.client() as client:
        for body in bodies:
            answer = await client.post("/v1/notes", json=body)
            assert answer.status_code in {400, 422}
            assert "CANARY" not in answer.text


class Leaf(Frozen):
    label: str


class Tree(Frozen):
    truth: list[Leaf | str | int]
    more: dict[str, Leaf | int] = {}


def test_pointers_leave_out_union_branches() -> None:
    body = {"truth": ["x", {"label": 5}, None], "more": {"a": {"colour": 1}}}
    with pytest.raises(ValidationError) as caught:
        Tree.model_validate(body, strict=True)
    found = [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    problems = validation_problems(found, body)
    truth, more = {"/truth/1", "/truth/1/label", "/truth/2"}, {"/more/a", "/more/a/label", "/more/a/colour"}
    assert {problem.path for problem in problems} == truth | more


async def test_aborted_response_is_logged(tmp_path: Any) -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b"one"
        raise RuntimeError("CANARY")

    def extra(router: APIRouter) -> None:
        @router.get("/stream", dependencies=[Depends(Allow("consumer"))], response_class=StreamingResponse)
        async def stream() -> StreamingResponse:
            return StreamingResponse(lines())

    broken = sample(tmp_path / "data", extra=extra)
    with capture_logs() as logged:
        async with broken.client() as client:
            with pytest.raises(RuntimeError):  # a server closes the connection on it
                await client.get("/v1/stream")
    assert [line["event"] for line in logged] == ["unexpected_error", "request"]
    assert "CANARY" not in str(logged)


def test_every_domain_error_has_a_status() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DomainError)}
    assert kinds - {errors.DomainError} == set(DOMAIN_STATUS)
    assert all(type(error) in DOMAIN_STATUS for error in VENDOR_ERRORS.values())
