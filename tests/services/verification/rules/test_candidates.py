import base64

import pytest

from aex_models.contract import MAX_INLINE_BYTES, MAX_TOTAL_BYTES, Artifact
from aex_runtime.errors import InvalidRequest
from aex_verification.rules.candidates import (
    MAX_CLAIMS,
    compute_inline_size_bytes,
    find_artifact_problems,
    find_size_problems,
    require_claims_within_limit,
)


def text(content: str, name: str = "a.csv") -> Artifact:
    return Artifact(name=name, media_type="text/csv", content=content)


def encoded(content: bytes, name: str = "a.csv") -> Artifact:
    return Artifact(name=name, media_type="text/csv", content_base64=base64.b64encode(content).decode())


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1_000])
def test_inline_size_counts_bytes(size: int) -> None:
    assert compute_inline_size_bytes(encoded(b"x" * size)) == size
    assert compute_inline_size_bytes(text("x" * size)) == size
    assert compute_inline_size_bytes(text("é" * size)) == 2 * size
    assert compute_inline_size_bytes(Artifact(name="a.csv", media_type="text/csv", sha256="0" * 64)) == 0


def test_bounds_are_inclusive() -> None:
    largest = text("x" * MAX_INLINE_BYTES)
    assert find_artifact_problems([largest]) == []
    assert find_size_problems([largest], MAX_TOTAL_BYTES - MAX_INLINE_BYTES) == []
    (problem,) = find_size_problems([largest], MAX_TOTAL_BYTES - MAX_INLINE_BYTES + 1)
    assert (problem.path, problem.code) == ("/artifacts", "artifacts_too_large")


def test_oversized_content_has_the_pointer_of_its_field() -> None:
    too_large = MAX_INLINE_BYTES + 1
    problems = find_artifact_problems([text("a", "a"), text("x" * too_large, "b"), encoded(b"x" * too_large, "c")])
    assert [each.path for each in problems] == ["/artifacts/1/content", "/artifacts/2/content_base64"]
    assert {each.code for each in problems} == {"artifact_too_large"}
    assert all("PUT /v1/artifacts" in each.message for each in problems)


def test_each_duplicate_name_is_a_problem() -> None:
    problems = find_artifact_problems([text("1", "a"), text("2", "b"), text("3", "a"), encoded(b"4", "a")])
    assert [(each.path, each.code) for each in problems] == [
        ("/artifacts/2/name", "duplicate_name"),
        ("/artifacts/3/name", "duplicate_name"),
    ]


def test_excess_claims_are_refused() -> None:
    require_claims_within_limit(dict.fromkeys(map(str, range(MAX_CLAIMS)), 1))
    with pytest.raises(InvalidRequest) as refused:
        require_claims_within_limit(dict.fromkeys(map(str, range(MAX_CLAIMS + 1)), 1))
    assert [each.path for each in refused.value.errors] == ["/claimed_values"]
