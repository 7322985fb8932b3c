"""Thresholds above 256 bytes: stored once, and complete wherever results are read."""

import json
from typing import Any

from aex_models.audiences import Audience
from aex_models.governance import Decision
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal
from aex_verification.handlers.export_outcomes import OutcomeFilter, export_outcomes
from aex_verification.handlers.read import render_attempt, render_outcome
from aex_verification.rules.outcomes import OutcomeFormat
from aex_verification.rules.records import AttemptRow, Policy
from tests.parts.verification import WORDS, VerificationBench
from tests.services.verification.flow import GOOD, SHORT, grade, opened, outcome, review

TERMS = [f"{name}-{'x' * 200}" for name in ("alpha", "beta", "gamma")]
KEYWORDS = {"metric": "contains_keywords", "metric_type": "contains", "comparison": "contains_all", "threshold": TERMS}
CRITERIA = {"criteria": [WORDS, {**KEYWORDS, "penalty": "0.01"}], "aggregation": "any"}
READERS = [Principal("acme", Audience.CONSUMER), Principal("bot", Audience.AGENT), Principal("olga", Audience.OPERATOR)]


async def open_bench(**changes: Any) -> VerificationBench:
    return await opened(verifier=None, success_criteria=CRITERIA, verification={"feedback": "full"}, **changes)


def stored(row: AttemptRow) -> list[tuple[int | None, Any]]:
    results = row.result.criterion_results if row.result else ()
    return [(each.criterion, each.threshold) for each in results]


def visible(answer: dict[str, Any], name: str = "result") -> list[tuple[int, Any]]:
    return [(each["criterion"], each["threshold"]) for each in answer[name]["criterion_results"]]


COMPLETE, WITHOUT = [(0, 3), (1, TERMS)], [(0, 3), (1, None)]


async def test_events_and_records_have_none_and_every_answer_has_it_complete() -> None:
    bench = await open_bench()
    row = await grade(bench, GOOD)
    record = await outcome(bench)
    [event] = bench.emitted("outcome.verified")
    published = event.data["outcome"]
    assert stored(row) == visible(published, "verification_result") == WITHOUT
    assert published["success_criteria"]["criteria"][1]["threshold"] == TERMS
    assert len(json.dumps(published["verification_result"])) < 2_000
    for reader in READERS:
        assert visible(await render_attempt(bench.deps, reader, row)) == COMPLETE
        assert visible(render_outcome(reader, record), "verification_result") == COMPLETE
    limiter = ConcurrencyLimiter(1, 1, "exports", "exports_busy")
    pieces = export_outcomes(bench.deps, READERS[0], OutcomeFilter(), OutcomeFormat.JSONL, limiter)
    [line] = b"".join([piece async for piece in pieces]).splitlines()
    assert visible(json.loads(line), "verification_result") == COMPLETE


async def test_full_feedback_has_the_threshold() -> None:
    bench = await open_bench()
    row = await grade(bench, SHORT)
    assert "needs all of: alpha-xxx" in (row.feedback or "")
    assert visible(await render_attempt(bench.deps, READERS[1], row)) == COMPLETE


async def test_a_held_and_released_attempt_is_visible_complete() -> None:
    bench = await open_bench(policy=Policy(max_system_retries=0))
    bench.governance.refusing = lambda: True
    row = await grade(bench, GOOD)
    assert stored(row) == WITHOUT
    assert visible(await render_attempt(bench.deps, READERS[2], row)) == COMPLETE
    await review(bench, Decision.RELEASE)
    assert visible(render_outcome(READERS[0], await outcome(bench)), "verification_result") == COMPLETE
