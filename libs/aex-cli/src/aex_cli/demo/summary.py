"""Work 1 of the demo: a summary of a page of Darwin. The first draft is rejected, its revision passes.

The agent selects sentences of the text, and adds more by the feedback. The reference is the consumer's secret.
"""

import re
from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import NamedTuple

from aex_cli.demo import steps
from aex_cli.demo.clients import WORDSMITH, DemoClients
from aex_cli.examples import read_example_work
from aex_cli.report import Report
from aex_client import AttemptView, OutcomeView
from aex_models.criteria import SuccessCriteria
from aex_models.results import Verdict
from aex_models.work import Work

CPC_RATE = "0.40"
"""Price of the award, below the work's `max_cpc`."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_UNMET = re.compile(r"^- ([A-Za-z0-9_.]+): ", re.MULTILINE)
FIRST_DRAFT = (0,)
"""Index of the first sentence, a common baseline of summarisation. It does not pass here."""


def split_sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(text.strip())


def extract_sentences(text: str, indexes: Collection[int]) -> str:
    """Return the sentences of `text` at these indexes, joined in their order."""
    sentences = split_sentences(text)
    return " ".join(sentences[index] for index in sorted(indexes))


def parse_unmet_metrics(feedback: str) -> frozenset[str]:
    """Return the names of the metrics that the feedback text lists as not met."""
    return frozenset(_UNMET.findall(feedback))


class UnmetRequirements(NamedTuple):
    """The public requirements that a summary does not meet; lengths are in characters."""

    terms: Sequence[str]
    min_length: int
    max_length: float


def find_unmet_requirements(criteria: SuccessCriteria, unmet: Collection[str]) -> UnmetRequirements:
    """Return the keywords and the length required by the criteria whose metrics are in `unmet`."""
    thresholds = {each.metric: each.threshold for each in criteria.criteria if each.metric in unmet}
    length = thresholds.get("output_length", {})
    return UnmetRequirements(thresholds.get("contains_keywords", ()), length.get("min", 0), length.get("max", inf))


def add_sentences_until_complete(
    text: str, indexes: Collection[int], terms: Sequence[str] = (), min_length: int = 0, max_length: float = inf
) -> tuple[int, ...]:
    """Return the sentence indexes of a better summary: the given ones and further ones.

    Each step adds the sentence with the most missing terms, or the earliest of several such sentences. The
    selection is complete if all terms are found and the text is long enough, or if no sentence fits. Lengths are in
    characters.
    """
    sentences = split_sentences(text)
    chosen = set(indexes)
    while True:
        summary = extract_sentences(text, chosen)
        missing = [term for term in terms if not _contains(summary, term)]
        limit = max_length - len(summary) - 1
        fitting = [index for index, each in enumerate(sentences) if index not in chosen and len(each) <= limit]
        if not fitting or (not missing and len(summary) >= min_length):
            return tuple(sorted(chosen))
        chosen.add(max(fitting, key=lambda index: (sum(_contains(sentences[index], term) for term in missing), -index)))


def _contains(text: str, term: str) -> bool:
    return term.casefold() in text.casefold()


async def run_summary_work(clients: DemoClients, report: Report) -> OutcomeView:
    """Run the demo's first work, a summary; print its steps and return its outcome.

    Raises `DemoFailed` if a result differs from the expected one.
    """
    submission = read_example_work("summary")
    report.print_heading(f"Work 1: {submission.title}")
    published = await steps.publish_and_show_quote(clients.consumer, submission, "the reference summary", report)
    award = await steps.award_and_show_price(clients.consumer, published.work_id, WORDSMITH, CPC_RATE, report)
    work = await steps.get_work_and_expect_no_evaluation(clients.wordsmith, published.work_id)
    criteria = steps.require_value(work.success_criteria, "the success criteria")
    text: str = work.input["text"]
    report.print_step(
        "read", f"{WORDSMITH} reads the text ({len(text):,} characters) and the criteria, not the reference"
    )

    async def post(description: str, choose: Callable[[], tuple[int, ...]], expected: Verdict) -> AttemptView:
        summary, duration_ms = steps.run_and_measure_ms(lambda: extract_sentences(text, choose()))
        made = f"{len(summary)} characters, made in {duration_ms:.1f} ms"
        report.print_step("candidate", f"{WORDSMITH} posts {description}: {made}")
        return await steps.post_and_expect_verdict(
            clients.wordsmith, award.contract_id, {"text": summary}, duration_ms, expected
        )

    draft = await post("the lead sentence", lambda: FIRST_DRAFT, Verdict.REJECTED)
    feedback = _show_rejection(work, draft, report)
    requirements = find_unmet_requirements(criteria, parse_unmet_metrics(feedback))
    await post(
        "a revision by the feedback",
        lambda: add_sentences_until_complete(text, FIRST_DRAFT, *requirements),
        Verdict.PASSED,
    )
    outcome, result = await steps.wait_for_successful_outcome(clients.consumer, award.contract_id)
    steps.show_passed_verdict(
        work, result, report, f"attempt {outcome.attempts_used} of {work.verification.max_attempts}; "
    )
    return outcome


def _show_rejection(work: Work, draft: AttemptView, report: Report) -> str:
    """Print the rejection as the agent sees it, and return the feedback."""
    count = f"attempt 1 of {work.verification.max_attempts}"
    report.print_step("rejected", f"{count}, nothing to pay yet; as {WORDSMITH} sees it:")
    steps.show_criterion_table(work, steps.require_value(draft.result, "the result of the first draft"), report)
    feedback = steps.require_value(draft.feedback, "the feedback on the first draft")
    report.print_step("feedback", f"for {WORDSMITH}:")
    report.print_block(feedback)
    return feedback
