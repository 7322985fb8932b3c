"""What a candidate's artifacts have to be, apart from their uploads."""

import base64

import pytest

from aex_models.artifacts import MAX_INLINE_BYTES, MAX_TOTAL_BYTES
from aex_models.contract import Artifact
from aex_verification.rules.artifacts import artifact_problems, inline_size, total_problems


def text(content: str, name: str = "a.csv") -> Artifact:
    return Artifact(name=name, media_type="text/csv", content=content)


def encoded(content: bytes, name: str = "a.csv") -> Artifact:
    return Artifact(name=name, media_type="text/csv", content_base64=base64.b64encode(content).decode())


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 1_000])
def test_the_size_of_inline_content_is_that_of_its_bytes(size: int) -> None:
    assert inline_size(encoded(b"x" * size)) == size
    assert inline_size(text("x" * size)) == size
    assert inline_size(text("é" * size)) == 2 * size


def test_an_upload_takes_no_room_in_the_candidate() -> None:
    assert inline_size(Artifact(name="a.csv", media_type="text/csv", sha256="0" * 64)) == 0


def test_the_bounds_are_inclusive() -> None:
    largest = text("x" * MAX_INLINE_BYTES)
    assert artifact_problems([largest]) == []
    assert total_problems([largest], MAX_TOTAL_BYTES - MAX_INLINE_BYTES) == []
    (problem,) = total_problems([largest], MAX_TOTAL_BYTES - MAX_INLINE_BYTES + 1)
    assert (problem.path, problem.code) == ("/artifacts", "artifacts_too_large")


def test_content_that_is_too_large_is_told_at_the_field_that_holds_it() -> None:
    too_large = MAX_INLINE_BYTES + 1
    problems = artifact_problems([text("a", "a"), text("x" * too_large, "b"), encoded(b"x" * too_large, "c")])
    assert [each.path for each in problems] == ["/artifacts/1/content", "/artifacts/2/content_base64"]
    assert {each.code for each in problems} == {"artifact_too_large"}
    assert all("PUT /v1/artifacts" in each.message for each in problems)


def test_every_artifact_after_the_first_of_its_name_is_told() -> None:
    problems = artifact_problems([text("1", "a"), text("2", "b"), text("3", "a"), encoded(b"4", "a")])
    assert [(each.path, each.code) for each in problems] == [
        ("/artifacts/2/name", "duplicate_name"),
        ("/artifacts/3/name", "duplicate_name"),
    ]
