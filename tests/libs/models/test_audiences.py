import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from aex_models.allowlists import ALLOWED, AUDIENCES
from aex_models.audiences import Audience, Disclosure, NotForAudience, project, project_event
from aex_models.contract import Attempt, Award, Candidate, Contract, ExecutionMetadata, Terms
from aex_models.events import TOPICS, ContractAwarded
from aex_models.examination import DataOwner, Examination, Recomputed
from aex_models.governance import Flag, GovernanceResult, KeywordStats, Party
from aex_models.outcome import BillingImpact, OutcomeRecord
from aex_models.results import CriterionResult, VerificationResult
from aex_models.science import DataFile, Science, ScienceResult
from aex_models.settlement import Breakdown, Cost, CostLine
from aex_models.work import (
    EVALUATION_KEYS,
    CustomMetric,
    Evaluation,
    EvaluationRef,
    FeedbackLevel,
    GroundTruth,
    Work,
    WorkAnswer,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIGEST = "a" * 64
DATA_DIGEST = "d" * 64
NOT_CONSUMER = [audience for audience in Audience if audience is not Audience.CONSUMER]
INSIDERS = (Audience.FINANCE, Audience.OPERATOR, Audience.SERVICE)
LEVELS = list(FeedbackLevel)

WITHHELD = {
    # No audience is told these: they only steer what the agent is told.
    ("Attempt", "disclosure"),
    ("Settlement", "disclosure"),
    # Settlement's own: the rate of a replacement's fee, and what the projections of the ledger count.
    ("Settlement", "fee_rate"),
    ("LedgerTransaction", "booking"),
}

EVALUATION = Evaluation.model_validate(
    {
        "reference": ["canary-reference"],
        "ground_truth": [{"label": "canary-label", "id": "canary-id"}, "canary-bare"],
        "required_keywords": ["canary-keyword"],
        "pattern": "canary-pattern",
        "output_schema": {"const": "canary-schema"},
        "required_fields": ["canary-field"],
        "custom_metrics": [{"name": "canary_name", "code": "canary-code"}],
    }
)
WORK: dict[str, Any] = {
    "work_id": "work_1",
    "consumer_id": "acme",
    "title": "t",
    "domain": "general",
    "budget": {"max_cpc": "1"},
    "status": "open",
    "created_at": NOW,
    "evaluation": EVALUATION,
    "science": {
        "question": "How fit are the mutants?",
        "expected_outcome": {"mean": "canary-expected"},
        "statistics": [{"name": "mean_fitness", "stat": "mean", "column": "mut_score"}],
        "data": [{"name": "scores.csv", "sha256": DATA_DIGEST}],
    },
}
TERMS = Terms.model_validate({"cpc_rate": "1"})
AWARD = Award.model_validate(
    {
        "contract_id": "ctr_1",
        "work_id": "work_1",
        "consumer": Party(id="acme", org="acme-org"),
        "agent_id": "bot",
        "cpc_rate": "1",
        "terms": TERMS,
        "deadline": NOW,
        "awarded_at": NOW,
    }
)


def criterion_result(**changes: Any) -> CriterionResult:
    return CriterionResult.model_validate(
        {
            "metric": "rougeL",
            "metric_type": "rouge_score",
            "value": 0.123,
            "threshold": 0.5,
            "comparison": "gte",
            "met": False,
            "required": True,
            "weight": 1,
        }
        | changes
    )


def result(**changes: Any) -> VerificationResult:
    return VerificationResult.model_validate(
        {
            "verification_id": "ver_1",
            "contract_id": "ctr_1",
            "verdict": "rejected",
            "success": False,
            "metrics": {"rougeL": 0.123, "word_count": 7, "accuracy": 0.456},
            "provenance": {"rougeL": "computed", "word_count": "computed"},
            "criterion_results": [
                criterion_result(secret=True),
                criterion_result(metric="word_count", metric_type="count", value=7, threshold=9),
            ],
            "weighted_score": 0.0,
            "bonus": "2",
            "penalty": "3",
            "governance": GovernanceResult(
                action="allow",
                flags=(Flag(rule="r", severity="info", message="flag-message", evidence={"x": "evidence"}),),
            ),
            "candidate_hash": DIGEST,
            "engine_version": "1",
            "verified_at": NOW,
        }
        | changes
    )


CANDIDATE = Candidate(
    output="the output", execution_metadata=ExecutionMetadata.model_validate({"duration_ms": 5, "tool": "x"})
)


def attempt(level: FeedbackLevel = FeedbackLevel.CRITERIA) -> Attempt:
    return Attempt.model_validate(
        {
            "attempt_id": "att_1",
            "contract_id": "ctr_1",
            "candidate_hash": DIGEST,
            "output_hash": DIGEST,
            "status": "judged",
            "verdict": "rejected",
            "feedback": "the feedback",
            "result": result(),
            "candidate": CANDIDATE,
            "disclosure": level,
            "received_at": NOW,
        }
    )


def record(level: FeedbackLevel = FeedbackLevel.CRITERIA) -> OutcomeRecord:
    return OutcomeRecord(
        id="out_1",
        contract_id="ctr_1",
        work_id="work_1",
        agent_id="bot",
        consumer_id="acme",
        domain="general",
        final_status="exhausted",
        verification_result=result(),
        final_result="the output",
        attempts_used=1,
        execution_metadata={"tool": "x"},
        terms=TERMS,
        billing_impact=BillingImpact.model_validate({"base": 0, "bonus": 0, "penalty": 0, "total": 0}),
        disclosure=level,
        created_at=NOW,
    )


def tells_secrets(shown: Any) -> bool:
    """Whether anything of the marked evaluation data is in it."""
    text = json.dumps(shown)
    return "canary" in text or DATA_DIGEST in text


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def test_every_model_that_a_projected_model_reaches_has_an_allow_list() -> None:
    missing = {
        f"{model.__name__}.{name}: {inner.__name__}"
        for model in ALLOWED
        for name, field in model.model_fields.items()
        for inner in models_in(field.annotation)
        if inner not in ALLOWED and (model.__name__, name) not in WITHHELD
    }
    assert not missing


def test_every_event_has_an_allow_list() -> None:
    assert {topic.data for topic in TOPICS.values()} <= set(ALLOWED)


def test_every_field_is_allowed_to_someone_or_withheld_by_name() -> None:
    hidden = {
        (model.__name__, name)
        for model, rows in ALLOWED.items()
        for name in model.model_fields
        if not any(name in fields for fields in rows.values())
    }
    assert hidden == WITHHELD


def test_allow_lists_name_no_field_that_is_not_there() -> None:
    unknown = {
        (model.__name__, name)
        for model, rows in ALLOWED.items()
        for fields in rows.values()
        for name in fields
        if name not in model.model_fields
    }
    assert not unknown


def test_every_allow_list_speaks_of_every_audience() -> None:
    assert set(AUDIENCES) == {audience.value for audience in Audience}
    assert all(set(rows) == set(AUDIENCES) for rows in ALLOWED.values())


def test_a_model_without_an_allow_list_does_not_leave() -> None:
    request = KeywordStats(found=1, density=0.5, list_share=0.0)
    with pytest.raises(NotForAudience):
        project(request, Audience.OPERATOR)


def test_a_subclass_does_not_inherit_an_allow_list() -> None:
    class WiderWork(Work):
        internal: str = "x"

    with pytest.raises(NotForAudience):
        project(WiderWork.model_validate(WORK), Audience.CONSUMER)


@pytest.mark.parametrize("audience", NOT_CONSUMER)
def test_evaluation_data_reach_the_consumer_alone(audience: Audience) -> None:
    for model in (Evaluation, CustomMetric, GroundTruth):
        assert ALLOWED[model][audience.value] == frozenset()
    for holder in (Work, WorkAnswer):
        assert "evaluation" not in ALLOWED[holder][audience.value]
    assert "expected_outcome" not in ALLOWED[Science][audience.value]
    assert "sha256" not in ALLOWED[DataFile][audience.value]


@pytest.mark.parametrize("audience", NOT_CONSUMER)
@pytest.mark.parametrize("level", LEVELS)
def test_a_work_shows_others_no_evaluation_data_at_any_level(audience: Audience, level: FeedbackLevel) -> None:
    work = Work.model_validate(WORK)
    shown = project(work, audience, Disclosure(level=level, output=True))
    assert not tells_secrets(shown)
    assert shown["title"] == "t"
    event = ContractAwarded(award=AWARD, work=work, terms=TERMS, evaluation=EvaluationRef(digest=DIGEST, size=1))
    assert not tells_secrets(project(event, audience))


@pytest.mark.parametrize("audience", NOT_CONSUMER)
def test_everyone_who_sees_a_work_sees_what_its_science_demands(audience: Audience) -> None:
    science = project(Work.model_validate(WORK), audience)["science"]
    assert set(science) == set(Science.model_fields) - {"expected_outcome"}
    assert science["question"] == "How fit are the mutants?"
    assert science["statistics"][0]["name"] == "mean_fitness"
    assert science["data"] == [{"name": "scores.csv", "media_type": None}]
    assert Science.model_validate(science) == Science.model_validate(WORK["science"]).without_secrets()


def test_the_consumer_sees_its_evaluation_data_whole() -> None:
    shown = project(Work.model_validate(WORK), Audience.CONSUMER)
    assert shown["evaluation"] == EVALUATION.model_dump(mode="json")
    assert set(shown["evaluation"]) == EVALUATION_KEYS
    assert shown["science"]["expected_outcome"] == {"mean": "canary-expected"}
    assert shown["science"]["data"][0]["sha256"] == DATA_DIGEST


def test_the_salted_digest_is_for_services_alone() -> None:
    event = ContractAwarded(
        award=AWARD, work=Work.model_validate(WORK), terms=TERMS, evaluation=EvaluationRef(digest=DIGEST, size=1)
    )
    assert project_event(event)["evaluation"] == {"digest": DIGEST, "size": 1}
    assert not project(event, Audience.AGENT)


def values(shown: dict[str, Any]) -> dict[str, Any]:
    return {each["metric"]: each.get("value", "withheld") for each in shown["criterion_results"]}


def test_an_agent_is_told_secret_values_at_full_alone() -> None:
    assert values(project(result(), Audience.AGENT)) == {"rougeL": "withheld", "word_count": 7}
    full = Disclosure(level=FeedbackLevel.FULL)
    assert values(project(result(), Audience.AGENT, full)) == {"rougeL": 0.123, "word_count": 7}


@pytest.mark.parametrize(
    ("code", "fault", "told"),
    [("prediction_count", "agent", False), ("metric_missing", "agent", True), ("judge_unreachable", "platform", True)],
)
def test_an_error_that_depends_on_evaluation_data_is_told_to_the_agent_at_full_alone(
    code: str, fault: str, told: bool
) -> None:
    error = {"code": code, "message": "3 predictions for 77 labels", "fault": fault}
    found = result(criterion_results=[criterion_result(secret=True, value=None, error=error)])
    [shown] = project(found, Audience.AGENT)["criterion_results"]
    assert shown.get("error", {}).get("code") == (code if told else None)
    [whole] = project(found, Audience.AGENT, Disclosure(level=FeedbackLevel.FULL))["criterion_results"]
    assert whole["error"]["code"] == code


def test_an_agent_sees_metrics_that_its_criteria_name_and_no_secret_ones() -> None:
    shown = project(result(), Audience.AGENT)
    assert shown["metrics"] == {"word_count": 7}
    assert set(shown["provenance"]) == {"word_count"}


def test_a_metric_that_is_secret_in_one_criterion_is_secret_in_all() -> None:
    twice = result(criterion_results=[criterion_result(secret=True), criterion_result(threshold=0.1)])
    assert project(twice, Audience.AGENT)["metrics"] == {}


def test_what_was_recomputed_from_the_consumer_s_data_travels_in_no_event() -> None:
    found = Examination(recomputed=(Recomputed(name="hidden", value=0.777, owner=DataOwner.CONSUMER, artifact="own"),))
    judged = result(science=ScienceResult(passed=False, examination=found))
    told = project(judged, Audience.SERVICE)
    assert "examination" not in told["science"]
    assert VerificationResult.model_validate(told | {"criterion_results": ()}).science == ScienceResult(passed=False)
    seen = project(judged, Audience.OPERATOR)["science"]["examination"]
    assert seen["recomputed"][0]["value"] == 0.777


def test_feedback_level_none_tells_the_verdict_and_no_more() -> None:
    shown = project(result(), Audience.AGENT, Disclosure(level=FeedbackLevel.NONE))
    assert shown["verdict"] == "rejected"
    assert not {"criterion_results", "metrics", "provenance", "weighted_score", "bonus", "penalty"} & set(shown)


def test_a_record_s_own_level_holds_where_the_caller_names_none() -> None:
    shown = project(record(FeedbackLevel.NONE), Audience.AGENT)
    assert "criterion_results" not in shown["verification_result"]
    assert "0.123" not in json.dumps(project(attempt(), Audience.AGENT))
    assert "0.123" in json.dumps(project(attempt(FeedbackLevel.FULL), Audience.AGENT))


@pytest.mark.parametrize("audience", NOT_CONSUMER)
@pytest.mark.parametrize("level", LEVELS)
def test_what_custom_code_said_when_it_failed_is_the_consumer_s_alone(audience: Audience, level: FeedbackLevel) -> None:
    failed = criterion_result(error={"code": "custom_metric_failed", "message": "canary", "fault": "platform"})
    shown = project(result(criterion_results=[failed]), audience, Disclosure(level=level))
    assert "canary" not in json.dumps(shown)
    assert "canary" in json.dumps(project(result(criterion_results=[failed]), Audience.CONSUMER))


def test_an_error_s_message_is_told_to_the_agent_at_full_alone() -> None:
    failed = criterion_result(error={"code": "no_predictions", "message": "3 labels expected"})
    agent = project(result(criterion_results=[failed]), Audience.AGENT)
    assert agent["criterion_results"][0]["error"] == {"code": "no_predictions", "fault": "agent"}
    assert "3 labels" in json.dumps(
        project(result(criterion_results=[failed]), Audience.AGENT, Disclosure(level=FeedbackLevel.FULL))
    )


def test_evidence_is_for_operators_and_services() -> None:
    seen = {audience for audience in Audience if "evidence" in json.dumps(project(result(), audience))}
    assert seen == {Audience.OPERATOR, Audience.SERVICE}


def test_a_consumer_that_does_not_pay_sees_the_verdict_alone() -> None:
    shown = project(attempt(), Audience.CONSUMER)
    assert shown["verdict"] == "rejected"
    assert not {"candidate", "result", "feedback", "candidate_hash", "output_hash"} & set(shown)
    unpaid = project(record(), Audience.CONSUMER)
    assert not {"final_result", "execution_metadata"} & set(unpaid)
    assert "candidate_hash" not in unpaid["verification_result"]


def test_a_consumer_that_pays_sees_the_delivery() -> None:
    shown = project(attempt(), Audience.CONSUMER, Disclosure(output=True))
    assert shown["candidate"]["output"] == "the output"
    assert shown["candidate"]["execution_metadata"] == {
        "duration_ms": 5,
        "ttfb_ms": None,
        "processing_ms": None,
        "tool": "x",
    }
    assert project(record(), Audience.CONSUMER, Disclosure(output=True))["final_result"] == "the output"


def test_feedback_on_a_contract_is_for_its_parties_and_operators() -> None:
    contract = Contract.model_validate(
        {
            "contract_id": "ctr_1",
            "work_id": "work_1",
            "consumer_id": "acme",
            "agent_id": "bot",
            "status": "awaiting_revision",
            "attempts_used": 1,
            "max_attempts": 3,
            "deadline": NOW,
            "last_feedback": "told",
            "state_version": 1,
            "awarded_at": NOW,
            "updated_at": NOW,
        }
    )
    seen = {a for a in Audience if "last_feedback" in project(contract, a, Disclosure(output=True))}
    assert seen == {Audience.CONSUMER, Audience.AGENT, Audience.OPERATOR}
    assert "last_feedback" not in project(contract, Audience.CONSUMER)


@pytest.mark.parametrize("audience", INSIDERS)
def test_candidates_stay_out_of_events_and_finance(audience: Audience) -> None:
    assert bool(project(CANDIDATE, audience)) is (audience is Audience.OPERATOR)


def test_a_settlement_line_hides_secret_values_from_the_agent() -> None:
    line = CostLine(metric="rougeL", value=0.123, threshold=0.5, comparison="gte", met=True, amount="1", secret=True)
    breakdown = Breakdown.model_validate({"cpc": 1, "cpa_bonus": 0, "cpa_penalty": 0})
    cost = Cost(
        contract_id="ctr_1",
        currency="USD",
        lines=(line,),
        breakdown=breakdown,
        **{"base": 1, "total": 1},
        **dict.fromkeys(("bonus", "penalty", "bonus_capped", "penalty_waived", "fee"), 0),
    )
    assert "0.123" not in json.dumps(project(cost, Audience.AGENT))
    assert project(cost, Audience.FINANCE)["lines"][0]["value"] == 0.123
    assert project(cost, Audience.AGENT)["lines"][0]["amount"] == "1.00"


@pytest.mark.parametrize("audience", list(Audience))
def test_a_view_is_ready_for_json(audience: Audience) -> None:
    for model in (record(), attempt(), AWARD, Work.model_validate(WORK)):
        assert json.loads(json.dumps(project(model, audience), allow_nan=False)) == project(model, audience)
