"""Work 2, told: a classifier claims the work, reads the images, and passes at once."""

from collections.abc import Awaitable
from dataclasses import dataclass

from aex_cli.demo.cast import CONSUMER, DIGIT_READER, Cast
from aex_cli.demo.delivery import deliver, outcome_of, publish, show_verdict, shown
from aex_cli.demo.digit_reader import DigitReader
from aex_cli.demo.digits import Examples, digits_work, load_examples
from aex_cli.demo.expectations import expect, given
from aex_cli.demo.timing import timed
from aex_cli.report import Report
from aex_client import OutcomeView
from aex_models.money import format_amount
from aex_models.results import Verdict


@dataclass(frozen=True, slots=True)
class Lesson:
    """A reader that has learned, and the images that the consumer will ask it about."""

    reader: DigitReader
    asked: Examples


def learn() -> Lesson:
    """Train the agent. Blocks: it imports scikit-learn, which takes seconds, and learns in a fraction of one."""
    known, asked = load_examples()
    return Lesson(DigitReader(known), asked)


async def tell_digits(cast: Cast, lesson: Awaitable[Lesson], report: Report) -> OutcomeView:
    """The chapter; the contract's outcome. Raises `NotAsTold`."""
    report.chapter("Work 2: Read handwritten digits")
    learned = await lesson
    reader, asked = learned.reader, learned.asked
    report.step(
        "train", f"{DIGIT_READER} has learned from {reader.learned_from:,} images in {reader.learned_in_ms:.0f} ms"
    )
    submission = digits_work(asked)
    published = await publish(cast.consumer, submission, f"what {len(asked.labels)} images show", report)
    award = await cast.digit_reader.claim(published.work_id)
    price = f"{format_amount(award.cpc_rate)} {award.terms.currency}, owed on success alone"
    report.step("claim", f"{DIGIT_READER} claims it, as the work allows, at {price}: {award.contract_id}")
    work = await shown(cast.digit_reader, published.work_id)
    images = work.input["images"]
    predictions, duration_ms = timed(lambda: reader.read(images))
    told = f"{len(predictions)} labels, each with a confidence, made in {duration_ms:.1f} ms"
    report.step("candidate", f"{DIGIT_READER} reads the pixels and posts {told}")
    attempt = await deliver(cast.digit_reader, award.contract_id, {"predictions": predictions}, duration_ms)
    expect(attempt.verdict is Verdict.PASSED, f"the labels did not pass but were {attempt.verdict}: {attempt.feedback}")
    outcome = await outcome_of(cast.consumer, award.contract_id)
    result = given(outcome.verification_result, "the result of the verdict")
    minimum = given(work.success_criteria, "what to judge by").minimum_weighted_score
    score = f"weighted score {result.weighted_score:g}, needs {minimum:g}"
    report.step("passed", f"{score}; governance says {result.governance.action}; {CONSUMER} sees all:")
    show_verdict(work, result, report)
    return outcome
