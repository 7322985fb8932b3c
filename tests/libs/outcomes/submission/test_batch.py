from typing import Any

from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.batch import SharedBatchInput, check_batch_output, check_shared_input, divide_into_groups
from aex_outcomes.submission.verify_request import CheckedTrial, VerifyRequest

CATALOG = Catalog.of()
ROUGE = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4}
CRITERIA = {"success_criteria": {"criteria": [ROUGE]}}


def common(**changes: Any) -> SharedBatchInput:
    found = check_shared_input({**CRITERIA, **changes}, CATALOG)
    assert isinstance(found, SharedBatchInput)
    return found


def refused(body: Any) -> CheckedTrial[VerifyRequest]:
    found = check_shared_input(body, CATALOG)
    assert not isinstance(found, SharedBatchInput)
    return found


def test_missing_evaluation_data_are_left_to_the_outputs() -> None:
    assert not common().is_complete
    assert common(evaluation={"reference": "a"}).is_complete
    named = {**CRITERIA, "evaluation": {"reference": 5}}
    assert [each.path for each in refused(named).problems] == ["/evaluation/reference"]


def test_wrong_shape_alone_is_distinguished() -> None:
    assert refused({**CRITERIA, "output": 1}).only_shape
    assert not refused({"success_criteria": {"criteria": []}, "output": 1}).only_shape


def test_output_makes_the_request_that_the_members_together_make() -> None:
    shared = common(evaluation={"reference": "a", "pattern": "x"}, execution_metadata={"duration_ms": 1, "model": "m"})
    plain = check_batch_output({"output": 1, "execution_metadata": {"duration_ms": 2}}, shared, CATALOG).request
    assert plain is not None
    assert plain.execution_metadata.model_dump(exclude_none=True) == {"duration_ms": 2, "model": "m"}
    assert plain.evaluation is shared.request.evaluation
    own = check_batch_output({"output": 1, "evaluation": {"reference": "b"}}, shared, CATALOG).request
    assert own is not None
    assert own.evaluation is not None
    assert (own.evaluation.reference, own.evaluation.pattern) == ("b", "x")


def test_problem_of_an_output_has_its_pointer_in_the_line() -> None:
    missing = check_batch_output({"output": 1}, common(), CATALOG)
    assert [(each.path, each.code) for each in missing.problems] == [("/evaluation/reference", "evaluation_missing")]
    misspelt = check_batch_output({"output": 1, "evalution": {}}, common(), CATALOG)
    assert [each.path for each in misspelt.problems] == ["/evalution"]
    assert "evaluation" in misspelt.problems[0].message


def test_lines_are_divided_by_their_number_and_size() -> None:
    small, large = [b"x"] * 5, [b"x" * 900_000] * 3
    assert [list(each) for each in divide_into_groups(small, 0, 2)] == [[0, 1], [2, 3], [4]]
    assert [list(each) for each in divide_into_groups(large, 0, 32)] == [[0, 1], [2]]
    assert [list(each) for each in divide_into_groups(large, 200_000, 32)] == [[0], [1], [2]]
    assert [list(each) for each in divide_into_groups([b"x" * 3_000_000], 0, 32)] == [[0]]
    assert list(divide_into_groups([], 0, 32)) == []
