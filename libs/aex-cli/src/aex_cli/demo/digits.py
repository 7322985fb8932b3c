"""Work 2 of the demo: a classifier claims the work, labels 150 handwritten digits and passes.

The images are the work's input, their labels the consumer's secret.
"""

from collections.abc import Awaitable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from aex_cli.demo import steps
from aex_cli.demo.clients import DIGIT_READER, DemoClients
from aex_cli.examples import read_example_work
from aex_cli.report import Report
from aex_client import OutcomeView
from aex_models.money import format_amount
from aex_models.results import Verdict
from aex_runtime.commandline import UserError

TEST_SIZE = 150
Image = tuple[int, ...]
"""The 8 × 8 pixels of an image, row by row, from 0 (paper) to 16 (ink)."""


def require_package(module: str, package: str) -> None:
    """Raise `UserError` if the module is not installed. `package`: its name for the message.

    The module is only looked up, because its import may take a second.
    """
    if find_spec(module) is None:
        raise UserError(f"the demo needs {package}, which is not installed", "pip install 'aex-cli[demo]'")


def load_training_digits() -> tuple[list[Image], list[int]]:
    """Return scikit-learn's images of digits (UCI, 1998) and their labels, without the work's images."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 it takes a second, beside the services' start
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    data, target = load_digits(return_X_y=True)
    images = [tuple(int(pixel) for pixel in each) for each in data]
    labels = [int(label) for label in target]
    training, _, training_labels, _ = train_test_split(
        images, labels, test_size=TEST_SIZE, stratify=labels, random_state=0
    )
    return training, training_labels


class DigitReader:
    """A classifier of digits: linear discriminant analysis of the pixels, with Ledoit–Wolf shrinkage.

    It trains within hundredths of a second and gives the same model on every machine.
    """

    def __init__(self, images: Sequence[Image], labels: Sequence[int]) -> None:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: PLC0415 it takes a second

        self.training_size = len(images)
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        self._model, self.training_ms = steps.run_and_measure_ms(lambda: model.fit(images, labels))

    def label_images(self, images: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return `{id, label, confidence}` for each image `{id, pixels}`; the confidence is in [0, 1]."""
        labels = [int(label) for label in self._model.classes_]
        rows = [list(map(float, row)) for row in self._model.predict_proba([each["pixels"] for each in images])]
        return [
            {"id": image["id"], "label": labels[row.index(max(row))], "confidence": min(max(row), 1.0)}
            for image, row in zip(images, rows, strict=True)
        ]


async def run_digits_work(clients: DemoClients, training: Awaitable[DigitReader], report: Report) -> OutcomeView:
    """Run the demo's second work, labelled digits; print its steps and return its outcome.

    Raises `DemoFailed` if a result differs from the expected one.
    """
    submission = read_example_work("digits")
    report.print_heading(f"Work 2: {submission.title}")
    reader = await training
    report.print_step(
        "train", f"{DIGIT_READER} has learned from {reader.training_size:,} images in {reader.training_ms:.0f} ms"
    )
    secret = f"the labels of {len(submission.input['images'])} images"
    published = await steps.publish_and_show_quote(clients.consumer, submission, secret, report)
    award = await clients.digit_reader.claim(published.work_id)
    price = f"{format_amount(award.cpc_rate)} {award.terms.currency}, paid only on success"
    report.print_step("claim", f"{DIGIT_READER} claims it, as the work allows, at {price}: {award.contract_id}")
    work = await steps.get_work_and_expect_no_evaluation(clients.digit_reader, published.work_id)
    predictions, duration_ms = steps.run_and_measure_ms(lambda: reader.label_images(work.input["images"]))
    labels = f"{len(predictions)} labels, each with a confidence, made in {duration_ms:.1f} ms"
    report.print_step("candidate", f"{DIGIT_READER} reads the pixels and posts {labels}")
    output = {"predictions": predictions}
    await steps.post_and_expect_verdict(clients.digit_reader, award.contract_id, output, duration_ms, Verdict.PASSED)
    outcome, result = await steps.wait_for_successful_outcome(clients.consumer, award.contract_id)
    minimum = steps.require_value(work.success_criteria, "the success criteria").minimum_weighted_score
    score = f"weighted score {result.weighted_score:g}, needs {minimum:g}; "
    steps.show_passed_verdict(work, result, report, score)
    return outcome
