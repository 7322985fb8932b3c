"""The demo's second agent against the real engine, offline."""

from decimal import Decimal

import pytest

from aex_cli.demo.digit_reader import DigitReader
from aex_cli.demo.digits import TEST_SIZE, Examples, digits_work, load_examples
from aex_models.results import Verdict
from aex_models.work import Evaluation, GroundTruth, WorkSubmission
from aex_outcomes import VerificationEngine

pytestmark = pytest.mark.slow  # scikit-learn takes seconds to import


@pytest.fixture(scope="module")
def examples() -> tuple[Examples, Examples]:
    return load_examples()


@pytest.fixture(scope="module")
def work(examples: tuple[Examples, Examples]) -> WorkSubmission:
    return digits_work(examples[1])


async def test_a_trained_reader_reaches_the_minimum(examples: tuple[Examples, Examples], work: WorkSubmission) -> None:
    result = await VerificationEngine().verify(
        contract_id="ctr_demo",
        work_input=work.input,
        work_output={"predictions": DigitReader(examples[0]).read(work.input["images"])},
        success_criteria=work.success_criteria,
        evaluation=work.evaluation,
    )
    assert result.verdict is Verdict.PASSED
    assert result.weighted_score == 1
    assert result.bonus == Decimal("0.40")
    assert 0.95 < result.metrics["f1_score"] < 1


async def test_a_reader_that_learned_from_wrong_labels_fails(
    examples: tuple[Examples, Examples], work: WorkSubmission
) -> None:
    known, _ = examples
    misled = Examples(known.images, [9 - label for label in known.labels])
    result = await VerificationEngine().verify(
        contract_id="ctr_demo",
        work_input=work.input,
        work_output={"predictions": DigitReader(misled).read(work.input["images"])},
        success_criteria=work.success_criteria,
        evaluation=work.evaluation,
    )
    assert result.verdict is Verdict.REJECTED


def test_the_agent_learns_from_no_image_that_it_is_asked_about(examples: tuple[Examples, Examples]) -> None:
    known, asked = examples
    assert len(asked.images) == len(asked.labels) == TEST_SIZE
    assert not set(known.images) & set(asked.images)


def test_the_input_holds_pixels_and_the_labels_are_evaluation_data(
    examples: tuple[Examples, Examples], work: WorkSubmission
) -> None:
    _, asked = examples
    assert [set(each) for each in work.input["images"]] == [{"id", "pixels"}] * TEST_SIZE
    assert isinstance(work.evaluation, Evaluation)
    truth = work.evaluation.ground_truth or []
    assert [each.label for each in truth if isinstance(each, GroundTruth)] == list(asked.labels)
