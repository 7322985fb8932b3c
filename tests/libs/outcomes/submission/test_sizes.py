from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_models.criteria import SuccessCriteria
from aex_models.numbers import JsonFloat
from aex_models.work import WorkSubmission
from aex_outcomes.submission import check_submission
from aex_outcomes.submission.verify_request import check_verify_request
from tests.libs.outcomes.submission.test_check import CATALOG, changed, messages

KB, MB = 1_024, 1_000_000


def schema(size: int) -> dict[str, Any]:
    """Return a JSON Schema of this many canonical bytes."""
    empty = len(canonical_bytes({"description": ""}))
    return {"description": "x" * (size - empty)}


def on_schemas(*sizes: int) -> dict[str, Any]:
    criterion = {"metric": "matches_schema", "metric_type": "matches_schema", "comparison": "eq"}
    return {"criteria": [criterion | {"threshold": schema(size)} for size in sizes]}


def criteria_of(size: int) -> dict[str, Any]:
    """Return criteria of this many canonical bytes as they are stored, each threshold at most 256 kB."""
    parts = [256 * KB, 256 * KB - 1, 256 * KB - 2]
    rest = size - len(canonical_bytes(SuccessCriteria.model_validate(on_schemas(*parts, 1_000)))) + 1_000
    return on_schemas(*parts, rest)


def work_of(size: int, **changes: Any) -> dict[str, Any]:
    """Return a work of this many canonical bytes without its evaluation data."""
    empty = WorkSubmission.model_validate(changed(input__text="", **changes)).model_copy(update={"evaluation": None})
    return changed(input__text="x" * (size - len(canonical_bytes(empty))), **changes)


def refusals(body: Any) -> list[tuple[str, str, str]]:
    checked = check_submission(body, CATALOG)
    assert not checked.only_shape
    return [(each.path, each.code, each.message) for each in checked.problems]


@pytest.mark.parametrize(
    ("body", "path", "code", "limit"),
    [
        (
            lambda more: changed(success_criteria=on_schemas(1_000, 256 * KB + more)),
            "/success_criteria/criteria/1/threshold",
            "threshold_too_large",
            256 * KB,
        ),
        (
            lambda more: changed(success_criteria=criteria_of(MB + more)),
            "/success_criteria",
            "criteria_too_large",
            MB,
        ),
        (lambda more: work_of(4 * MB + more), "", "work_too_large", 4 * MB),
    ],
    ids=["threshold", "criteria", "work"],
)
def test_the_limit_is_accepted_and_one_byte_more_is_refused(body: Any, path: str, code: str, limit: int) -> None:
    assert refusals(body(0)) == []
    [(found_path, found_code, message)] = refusals(body(1))
    assert (found_path, found_code) == (path, code)
    assert f" {limit + 1} bytes as stored" in message
    assert f"at most {limit} (" in message


def test_bytes_are_those_of_the_canonical_form() -> None:
    bound = [JsonFloat("1e20")] * 12_500  # 21 digits and a comma each
    short = {
        "metric": "matches_schema",
        "metric_type": "matches_schema",
        "comparison": "eq",
        "threshold": {"enum": bound},
    }
    [(path, code, message)] = refusals(changed(success_criteria={"criteria": [short]}))
    assert (path, code) == ("/success_criteria/criteria/0/threshold", "threshold_too_large")
    assert f" {len(canonical_bytes({'enum': bound}))} bytes" in message


def test_evaluation_data_and_secrets_of_the_science_do_not_count() -> None:
    secret = {"expected_outcome": "x" * 4 * MB}
    assert (
        refusals(
            work_of(
                3_999_000,
                evaluation__output_schema=schema(900_000),
                evaluation__pattern="x" * 10_000,
                evaluation__reference="cat " * 190_000,
            )
        )
        == []
    )
    assert [each.code for each in check_submission(work_of(4 * MB, science=secret), CATALOG).problems] == []


def test_all_sizes_are_reported_with_the_other_problems() -> None:
    body = work_of(5 * MB, success_criteria=on_schemas(300 * KB, 256 * KB, 255 * KB, 254 * KB)) | {"title": ""}
    codes = ["work_too_large", "criteria_too_large", "threshold_too_large", "string_too_short"]
    assert [code for _, code, _ in refusals(body)] == codes
    body["success_criteria"]["criteria"].append({"metric": "nope", "threshold": schema(256 * KB + 1)})
    assert {code for _, code, _ in refusals(body)} >= {*codes, "missing"}
    assert "shorten input, the largest part" in messages(body)[0]


@pytest.mark.parametrize(
    "criteria", [None, 5, [], {}, {"criteria": 7}, {"criteria": [None, {"threshold": float("nan")}]}]
)
def test_other_shapes_have_no_size(criteria: Any) -> None:
    found = refusals(changed(success_criteria=criteria, input__text="x" * 300 * KB))
    assert not [code for _, code, _ in found if code.endswith("_too_large")]


def test_a_verification_without_a_contract_has_the_limits_of_criteria() -> None:
    for more, expected in ((0, []), (1, ["threshold_too_large"])):
        body = {"success_criteria": on_schemas(256 * KB + more), "output": {}}
        assert [each.code for each in check_verify_request(body, CATALOG).problems] == expected
    [problem] = check_verify_request({"success_criteria": criteria_of(MB + 1), "output": {}}, CATALOG).problems
    assert problem.path == "/success_criteria"
