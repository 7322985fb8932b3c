"""The client reads what the services write: every projection, for every audience that has it."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import to_json

from aex_client import views
from aex_client.call import reader
from aex_models.audiences import Audience, Disclosure, project
from aex_models.catalog import MetricEntry
from aex_models.contract import (
    Attempt,
    AttemptStatus,
    Award,
    Candidate,
    Contract,
    ContractStatus,
    ExecutionMetadata,
    Terms,
)
from aex_models.cost import billing_impact, cost
from aex_models.examination import DomainViolation, Examination, MismatchSeverity, ValueMismatch
from aex_models.governance import (
    Action,
    AgentProfile,
    DomainProfile,
    Flag,
    GovernanceResult,
    Hold,
    HoldCause,
    MetricProfile,
    Party,
    Rule,
    Severity,
)
from aex_models.outcome import OutcomeRecord
from aex_models.results import CriterionError, Provenance
from aex_models.science import (
    GateReason,
    OutcomeVerdict,
    Recommendation,
    Reviewer,
    Science,
    ScienceResult,
    ScientificReview,
    ScientificValidity,
)
from aex_models.settlement import Settlement, SettlementRevision, SettlementStatus
from aex_models.thresholds import MetricType
from aex_models.work import Budget, Evaluation, FeedbackLevel, Work, WorkStatus
from tests.libs.models.results import CONTRACT, NOW, a_criterion, a_result

TERMS = Terms(cpc_rate=Decimal("0.1"))
HASH = "0" * 64
MISMATCH = ValueMismatch(
    name="mean", claimed=11.17, actual=-0.39, severity=MismatchSeverity.CRITICAL, relative_error=29.6
)
RESULT = a_result(
    metrics={"rougeL": 0.5, "word_count": 12, "has_required_fields": True},
    provenance={"rougeL": Provenance.COMPUTED},
    criterion_results=(
        a_criterion(secret=True, bonus=Decimal("0.05")),
        a_criterion("word_count", met=False, value=None, error=CriterionError(code="metric_missing", message="none")),
    ),
    bonus=Decimal("0.05"),
    governance=GovernanceResult(
        action=Action.ALLOW, flags=(Flag(rule="r", severity=Severity.MINOR, message="m", evidence={"x": 1}),)
    ),
    governance_flags=("r",),
    candidate_hash=HASH,
    science=ScienceResult(
        passed=False,
        reasons=(GateReason(code="value_mismatch", names=("mean",)),),
        value_mismatches=(MISMATCH, MISMATCH.model_copy(update={"name": "std", "secret": True})),
        domain_violations=(
            DomainViolation(name="mean", message="11.17 is outside [-5, 2]", value=11.17, min=-5, max=2, secret=True),
        ),
        values_plausible=False,
        examination=Examination(claims=2, in_range=1, unchecked=("std",)),
        review=ScientificReview(
            outcome_verdict=OutcomeVerdict.WRONG_ANSWER,
            scientific_validity=ScientificValidity.INVALID,
            confidence=0.9,
            answers_original_question=False,
            values_plausible=False,
            values_consistent=None,
            reasoning_sound=None,
            value_mismatches=(MISMATCH,),
            recommendation=Recommendation.REJECT,
        ),
        reviewer=Reviewer(model="m", prompt_version="1"),
    ),
)
COST = cost(TERMS, RESULT)
CANDIDATE = Candidate(
    output={"text": "t"},
    execution_metadata=ExecutionMetadata(duration_ms=5.0, tokens=7),
    claimed_values={"mean": 1.5},
)
WORK = Work(
    work_id="work_1",
    consumer_id="acme",
    title="T",
    domain="general",
    budget=Budget(max_cpc=Decimal("0.1")),
    evaluation=Evaluation(reference="secret"),
    science=Science.model_validate(
        {
            "question": "?",
            "expected_outcome": "secret",
            "statistics": [{"name": "n", "stat": "count", "where": [{"column": "fdr", "op": "lt", "value": 0.05}]}],
            "data": [{"name": "a.csv", "sha256": HASH}],
        }
    ),
    status=WorkStatus.OPEN,
    created_at=NOW,
)
PARTS = {"contract_id": CONTRACT, "work_id": "work_1", "agent_id": "bot", "consumer_id": "acme"}
ATTEMPT = Attempt(
    attempt_id="att_1",
    contract_id=CONTRACT,
    candidate_hash=HASH,
    output_hash=HASH,
    status=AttemptStatus.JUDGED,
    verdict=RESULT.verdict,
    feedback="f",
    counted=True,
    errors=({"path": "/output/a", "code": "missing", "message": "Field required"},),
    result=RESULT,
    candidate=CANDIDATE,
    received_at=NOW,
    judged_at=NOW,
)
OUTCOME = OutcomeRecord(
    id="out_1",
    **PARTS,
    domain="general",
    final_status=ContractStatus.PASSED,
    verification_result=RESULT,
    final_result={"text": "t"},
    attempts_used=1,
    execution_metadata={"tokens": 7},
    terms=TERMS,
    billing_impact=billing_impact(COST),
    created_at=NOW,
)
REVISION = SettlementRevision(revision=1, cost=COST, settled_at=NOW, by="fin")
SETTLEMENT = Settlement(
    **PARTS,
    domain="general",
    success=True,
    final_status=ContractStatus.PASSED,
    verdict=RESULT.verdict,
    status=SettlementStatus.SETTLED,
    revision=1,
    revisions=(REVISION,),
    cost=COST,
    settled_at=NOW,
)
COUNTS: dict[str, Any] = {
    "outcomes": 3,
    "successes": 2,
    "success_rate": 2 / 3,
    "final_statuses": {"passed": 2, "exhausted": 1},
    "decisions": {"allow": 3},
    "flags": {"velocity": 1},
}
IN_GENERAL = DomainProfile(domain="general", **COUNTS, metrics={"rougeL": MetricProfile(count=3, median=0.5, mad=0.1)})
READ_BY: list[tuple[BaseModel, type[Any], str]] = [
    (WORK, Work, "consumer agent"),
    (Award(contract_id=CONTRACT, work_id="w", consumer=Party(id="acme"), agent_id="bot", cpc_rate=Decimal("0.1"),
           terms=TERMS, deadline=NOW, awarded_at=NOW), Award, "consumer agent"),
    (Contract(**PARTS, status=ContractStatus.AWARDED, attempts_used=0, max_attempts=3, deadline=NOW,
              last_feedback="f", state_version=1, awarded_at=NOW, updated_at=NOW), Contract, "consumer agent operator"),
    (ATTEMPT, views.AttemptView, "consumer agent operator"),
    (OUTCOME, views.OutcomeView, "consumer agent finance operator"),
    (SETTLEMENT, views.SettlementView, "consumer agent finance operator"),
    (Hold(hold_id="hold_1", contract_id=CONTRACT, attempt_id="att_1", cause=HoldCause.FRAUD_SUSPECTED, held_at=NOW),
     Hold, "operator"),
    (Rule(name="r", description="d", actions={"minor": "allow"}, thresholds={"x": 0.05}), Rule, "agent operator"),
    (AgentProfile(agent_id="bot", **COUNTS, domains=(IN_GENERAL,)), views.AgentProfileView, "agent operator service"),
    (AgentProfile(agent_id="new", outcomes=0, successes=0, success_rate=None), views.AgentProfileView, "agent"),
    (MetricEntry(name="rougeL", unit="fraction", range=(0.0, 1.0), metric_types=(MetricType.ROUGE_SCORE,)),
     MetricEntry, "consumer agent finance operator"),
]  # fmt: skip
CASES = [
    pytest.param(model, kind, Audience(role), id=f"{kind.__name__} for {role}")
    for model, kind, roles in READ_BY
    for role in roles.split()
]


@pytest.mark.parametrize("level", FeedbackLevel)
@pytest.mark.parametrize("output", [False, True])
@pytest.mark.parametrize(("model", "kind", "audience"), CASES)
def test_every_projection_is_read(
    model: BaseModel, kind: type[Any], audience: Audience, level: FeedbackLevel, output: bool
) -> None:
    shown = project(model, audience, Disclosure(level, output))
    seen = reader(kind)(to_json({**shown, "a_field_of_next_year": {"deep": 1}}))
    assert isinstance(seen, kind)
    for name, value in shown.items():
        if name in kind.model_fields:
            assert same(getattr(seen, name), value), name
    assert set(shown) <= set(kind.model_fields), "a field that is shown and not read"


def same(read: Any, written: Any) -> bool:
    """Whether what was read is what was written, in types of its own."""
    if isinstance(written, dict):
        fields = read if isinstance(read, dict) else {name: getattr(read, name, None) for name in written}
        return all(same(fields.get(key), value) for key, value in written.items())
    if isinstance(written, list):
        return len(read) == len(written) and all(map(same, read, written))
    if isinstance(read, datetime):
        return abs(read - datetime.fromisoformat(written)) < timedelta(microseconds=1)
    if isinstance(read, Decimal):
        return read == Decimal(written)
    return bool(read == written)


def test_an_unknown_field_deep_within_an_answer_is_ignored() -> None:
    shown = project(SETTLEMENT, Audience.FINANCE)
    shown["cost"]["breakdown"]["of_next_year"] = 1
    shown["revisions"][0]["cost"]["lines"][0]["of_next_year"] = 1
    assert reader(views.SettlementView)(to_json(shown)).cost.total == COST.total


def test_what_the_agent_is_not_shown_is_none() -> None:
    shown = project(ATTEMPT, Audience.AGENT, Disclosure(FeedbackLevel.NONE))
    result = reader(views.AttemptView)(to_json(shown)).result
    assert result is not None
    assert (result.weighted_score, result.bonus, result.criterion_results) == (None, None, ())
    assert result.governance.flags[0].message is None


def test_further_execution_metadata_are_kept() -> None:
    shown = project(ATTEMPT, Audience.AGENT)
    candidate = reader(views.AttemptView)(to_json(shown)).candidate
    assert candidate is not None
    assert candidate.execution_metadata["tokens"] == 7


@pytest.mark.parametrize(("status", "settled"), [("judged", True), ("invalid", True), ("queued", False)])
def test_an_attempt_tells_whether_waiting_longer_is_worth_it(status: str, settled: bool) -> None:
    at = datetime(2025, 3, 1, tzinfo=UTC)
    attempt = views.AttemptView(attempt_id="a", contract_id="c", status=AttemptStatus(status), received_at=at)
    assert attempt.settled is settled


def test_an_agent_reads_a_work_s_science_without_its_secrets() -> None:
    work = reader(Work)(to_json(project(WORK, Audience.AGENT)))
    assert WORK.science is not None
    assert work.science == WORK.science.without_secrets() != WORK.science
    own = reader(Work)(to_json(project(WORK, Audience.CONSUMER)))
    assert own.science == WORK.science


def test_figures_of_the_consumer_s_own_data_are_none_for_the_agent() -> None:
    shown = [
        reader(views.AttemptView)(to_json(project(ATTEMPT, Audience.AGENT, Disclosure(level)))).result
        for level in (FeedbackLevel.CRITERIA, FeedbackLevel.FULL)
    ]
    figures = [
        [each.actual for each in result.science.value_mismatches] for result in shown if result and result.science
    ]
    assert figures == [[-0.39, None], [-0.39, -0.39]]
    assert shown[0] is not None
    assert shown[0].science is not None
    assert (shown[0].science.domain_violations[0].value, shown[0].science.review) == (None, None)
