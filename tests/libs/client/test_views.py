"""The client reads what the services write: every projection, for every audience that has it."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import to_json

from aex_client import views
from aex_client.call import build_answer_parser
from aex_models import contract as c
from aex_models import governance as g
from aex_models import science as s
from aex_models.audiences import Audience, Disclosure, project
from aex_models.catalog import MetricEntry
from aex_models.cost import cost, to_billing_impact
from aex_models.evaluation import Evaluation
from aex_models.examination import DomainViolation, Examination, MismatchSeverity, ValueMismatch
from aex_models.outcome import OutcomeRecord
from aex_models.results import CriterionError, Provenance
from aex_models.settlement import Settlement, SettlementRevision, SettlementStatus
from aex_models.thresholds import MetricType
from aex_models.work import Budget, FeedbackLevel, Work, WorkStatus
from tests.libs.models.results import CONTRACT, NOW, a_criterion, a_result

TERMS = c.Terms(cpc_rate=Decimal("0.1"))
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
    governance=g.GovernanceResult(
        action=g.Action.ALLOW,
        flags=(g.Flag(rule="r", severity=g.Severity.MINOR, message="m", evidence={"x": 1}),),
    ),
    governance_flags=("r",),
    candidate_hash=HASH,
    science=s.ScienceResult(
        passed=False,
        reasons=(s.GateReason(code="value_mismatch", names=("mean",)),),
        value_mismatches=(MISMATCH, MISMATCH.model_copy(update={"name": "std", "secret": True})),
        domain_violations=(
            DomainViolation(name="mean", message="11.17 is outside [-5, 2]", value=11.17, min=-5, max=2, secret=True),
        ),
        values_plausible=False,
        examination=Examination(claims=2, in_range=1, unchecked=("std",)),
        review=s.ScientificReview(
            outcome_verdict=s.OutcomeVerdict.WRONG_ANSWER,
            scientific_validity=s.ScientificValidity.INVALID,
            confidence=0.9,
            answers_original_question=False,
            values_plausible=False,
            values_consistent=None,
            reasoning_sound=None,
            value_mismatches=(MISMATCH,),
            recommendation=s.Recommendation.REJECT,
        ),
        reviewer=s.Reviewer(model="m", prompt_version="1"),
    ),
)
COST = cost(TERMS, RESULT)
CANDIDATE = c.Candidate(
    output={"text": "t"},
    execution_metadata=c.ExecutionMetadata(duration_ms=5.0, tokens=7),
    claimed_values={"mean": 1.5},
)
WORK = Work(
    work_id="work_1",
    consumer_id="acme",
    title="T",
    domain="general",
    budget=Budget(max_cpc=Decimal("0.1")),
    evaluation=Evaluation(reference="secret"),
    science=s.Science.model_validate(
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
ATTEMPT = c.Attempt(
    attempt_id="att_1",
    contract_id=CONTRACT,
    candidate_hash=HASH,
    output_hash=HASH,
    status=c.AttemptStatus.JUDGED,
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
    final_status=c.ContractStatus.PASSED,
    verification_result=RESULT,
    final_result={"text": "t"},
    attempts_used=1,
    execution_metadata={"tokens": 7},
    terms=TERMS,
    billing_impact=to_billing_impact(COST),
    created_at=NOW,
)
REVISION = SettlementRevision(revision=1, cost=COST, settled_at=NOW, by="fin")
SETTLEMENT = Settlement(
    **PARTS,
    domain="general",
    success=True,
    final_status=c.ContractStatus.PASSED,
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
IN_GENERAL = g.DomainProfile(
    domain="general", **COUNTS, metrics={"rougeL": g.MetricProfile(count=3, median=0.5, mad=0.1)}
)
READ_BY: list[tuple[BaseModel, type[Any], str]] = [
    (WORK, Work, "consumer agent"),
    (c.Award(contract_id=CONTRACT, work_id="w", consumer=g.Party(id="acme"), agent_id="bot", cpc_rate=Decimal("0.1"),
           terms=TERMS, deadline=NOW, awarded_at=NOW), c.Award, "consumer agent"),
    (c.Contract(**PARTS, status=c.ContractStatus.AWARDED, attempts_used=0, max_attempts=3, deadline=NOW,
              last_feedback="f", state_version=1, awarded_at=NOW, updated_at=NOW),
     c.Contract, "consumer agent operator"),
    (ATTEMPT, views.AttemptView, "consumer agent operator"),
    (OUTCOME, views.OutcomeView, "consumer agent finance operator"),
    (SETTLEMENT, views.SettlementView, "consumer agent finance operator"),
    (g.Hold(hold_id="hold_1", contract_id=CONTRACT, attempt_id="att_1", cause=g.HoldCause.FRAUD_SUSPECTED, held_at=NOW),
     g.Hold, "operator"),
    (g.Rule(name="r", description="d", actions={"minor": "allow"}, thresholds={"x": 0.05}), g.Rule, "agent operator"),
    (g.AgentProfile(agent_id="bot", **COUNTS, domains=(IN_GENERAL,)), views.AgentProfileView, "agent operator service"),
    (g.AgentProfile(agent_id="new", outcomes=0, successes=0, success_rate=None), views.AgentProfileView, "agent"),
    (MetricEntry(name="rougeL", unit="fraction", range=(0.0, 1.0), metric_types=(MetricType.ROUGE_SCORE,)),
     MetricEntry, "consumer agent finance operator"),
]  # fmt: skip
CASES = [
    pytest.param(model, kind, Audience(role), id=f"{kind.__name__} for {role}")
    for model, kind, roles in READ_BY
    for role in roles.split()
]


@pytest.mark.parametrize(("model", "kind", "audience"), CASES)
def test_every_projection_is_read(model: BaseModel, kind: type[Any], audience: Audience) -> None:
    for level, output in product(FeedbackLevel, (False, True)):
        visible = project(model, audience, Disclosure(level, output))
        seen = build_answer_parser(kind)(to_json({**visible, "a_field_of_next_year": {"deep": 1}}))
        assert isinstance(seen, kind)
        assert set(visible) <= set(kind.model_fields), "a field that is shown and not read"
        for name, value in visible.items():
            assert same(getattr(seen, name), value), name


def same(read: Any, written: Any) -> bool:
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


def test_hidden_fields_are_none_and_unknown_nested_fields_ignored() -> None:
    visible = project(ATTEMPT, Audience.AGENT, Disclosure(FeedbackLevel.NONE))
    seen = build_answer_parser(views.AttemptView)(to_json(visible))
    assert seen.candidate is not None
    assert seen.candidate.execution_metadata["tokens"] == 7
    result = seen.result
    assert result is not None
    assert (result.weighted_score, result.bonus, result.criterion_results) == (None, None, ())
    assert result.governance.flags[0].message is None
    settlement = project(SETTLEMENT, Audience.FINANCE)
    settlement["cost"]["breakdown"]["of_next_year"] = 1
    settlement["revisions"][0]["cost"]["lines"][0]["of_next_year"] = 1
    assert build_answer_parser(views.SettlementView)(to_json(settlement)).cost.total == COST.total


@pytest.mark.parametrize(("status", "settled"), [("judged", True), ("invalid", True), ("queued", False)])
def test_attempt_is_settled_with_a_verdict_or_invalid(status: str, settled: bool) -> None:
    at = datetime(2025, 3, 1, tzinfo=UTC)
    attempt = views.AttemptView(attempt_id="a", contract_id="c", status=c.AttemptStatus(status), received_at=at)
    assert attempt.settled is settled


def test_agent_reads_the_science_of_a_work_without_secrets() -> None:
    work = build_answer_parser(Work)(to_json(project(WORK, Audience.AGENT)))
    assert WORK.science is not None
    assert work.science == WORK.science.without_secrets() != WORK.science
    own = build_answer_parser(Work)(to_json(project(WORK, Audience.CONSUMER)))
    assert own.science == WORK.science


def test_figures_of_the_consumers_data_are_none_for_the_agent() -> None:
    visible = [
        build_answer_parser(views.AttemptView)(to_json(project(ATTEMPT, Audience.AGENT, Disclosure(level)))).result
        for level in (FeedbackLevel.CRITERIA, FeedbackLevel.FULL)
    ]
    figures = [
        [each.actual for each in result.science.value_mismatches] for result in visible if result and result.science
    ]
    assert figures == [[-0.39, None], [-0.39, -0.39]]
    assert visible[0] is not None
    assert visible[0].science is not None
    assert (visible[0].science.domain_violations[0].value, visible[0].science.review) == (None, None)
