"""The demo's second agent against the real engine, offline."""

from decimal import Decimal

import pytest

from aex_cli.demo.digits import TEST_SIZE, DigitReader, Image, load_training_digits
from aex_cli.examples import FOLDER, read_example_work
from aex_cli.offline.documents import read_document
from aex_models.results import Verdict, VerificationResult
from aex_outcomes import VerificationEngine

pytestmark = pytest.mark.slow  # scikit-learn takes seconds to import
Examples = tuple[list[Image], list[int]]
WORK = read_example_work("digits")


@pytest.fixture(scope="module")
def training() -> Examples:
    return load_training_digits()


async def verified(reader: DigitReader) -> VerificationResult:
    return await VerificationEngine().verify(
        contract_id="ctr_demo",
        work_input=WORK.input,
        work_output={"predictions": reader.label_images(WORK.input["images"])},
        success_criteria=WORK.success_criteria,
        evaluation=WORK.evaluation,
    )


async def test_trained_reader_passes_with_the_labels_of_the_example_file(training: Examples) -> None:
    reader = DigitReader(*training)
    result = await verified(reader)
    assert (result.verdict, result.weighted_score, result.bonus) == (Verdict.PASSED, 1, Decimal("0.40"))
    assert 0.95 < result.metrics["f1_score"] < 1
    labels = reader.label_images(WORK.input["images"])
    found = read_document("--output", str(FOLDER / "digits/predictions.json")).value["predictions"]
    assert [(each["id"], each["label"]) for each in found] == [(each["id"], each["label"]) for each in labels]
    assert [each["confidence"] for each in found] == pytest.approx([each["confidence"] for each in labels])


def test_training_images_exclude_the_images_of_the_work(training: Examples) -> None:
    images = [tuple(each["pixels"]) for each in WORK.input["images"]]
    assert [set(each) for each in WORK.input["images"]] == [{"id", "pixels"}] * TEST_SIZE
    assert not set(training[0]) & set(images)
