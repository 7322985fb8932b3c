"""Many outputs are graded without services, each with the verdict that it has alone."""

from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.local import LocalGrader, make_payload
from aex_outcomes.submission.verify_request import Trial
from tests.libs.outcomes.engine.builders import criteria, criterion

CATALOG = Catalog.of()
WORDS = criteria(criterion("word_count", "gte", 2))
OWN = criteria(criterion("custom.mine", "gte", 2))
DOUBLE = "def evaluate(input, output, metadata): return 2 * output['x']"


def trial(required: SuccessCriteria, output: Any, evaluation: Evaluation | None = None) -> Trial:
    return Trial(success_criteria=required, output=output, evaluation=evaluation)


async def verdicts(required: SuccessCriteria, *trials: Trial) -> list[Any]:
    async with LocalGrader(required, CATALOG) as grader:
        found = await grader.grade(trials)
    return [each.verdict if isinstance(each, VerificationResult) else each.reason for each in found]


async def test_outputs_are_graded_in_order() -> None:
    trials = [trial(WORDS, {"text": text}) for text in ("one two", "one", "one two three")]
    assert await verdicts(WORDS, *trials) == [Verdict.PASSED, Verdict.REJECTED, Verdict.PASSED]


async def test_code_of_a_slow_metric_runs_for_each_output() -> None:
    evaluation = Evaluation.model_validate({"custom_metrics": [{"name": "mine", "code": DOUBLE}]})
    trials = [trial(OWN, {"x": value}, evaluation) for value in (1, 0)]
    assert await verdicts(OWN, *trials) == [Verdict.PASSED, Verdict.REJECTED]


def test_a_payload_repeats_only_evaluation_data_that_differ() -> None:
    shared, other = (Evaluation.model_validate({"reference": each}) for each in ("a", "b"))
    trials = [trial(WORDS, at, evaluation) for at, evaluation in enumerate((shared, shared, other, None))]
    payload = make_payload(trials, CATALOG)
    assert payload["evaluation"]["reference"] == "a"
    own = [each["evaluation"] for each in payload["candidates"] if "evaluation" in each]
    assert [each and each["reference"] for each in own] == ["b", None]
