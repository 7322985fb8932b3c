import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from aex_models.allowlists import ALLOWED, AUDIENCES
from aex_models.audiences import Audience, Disclosure, NotForAudience, project, project_event_data
from aex_models.contract import Attempt, Award, Candidate, Contract, ExecutionMetadata, Terms
from aex_models.contract_events import ContractEvent, ContractEventType
from aex_models.cost import cost
from aex_models.evaluation import EVALUATION_KEYS, CustomMetric, Evaluation, GroundTruth
from aex_models.events import TOPICS, ContractAwarded
from aex_models.examination import (
    DataOwner,
    DomainViolation,
    Examination,
    Fault,
    FileColumns,
    MixedGroups,
    Recomputed,
    ValueMismatch,
)
from aex_models.governance import Flag, GovernanceResult, KeywordStats, Party
from aex_models.outcome import BillingImpact, OutcomeRecord
from aex_models.results import CriterionError, CriterionResult, Provenance, VerificationResult
from aex_models.science import GateReason, Science, ScienceResult
from aex_models.work import EvaluationRef, FeedbackLevel, Work, WorkAnswer
from tests.libs.models.results import NOW, a_criterion, a_result

DIGEST = "a" * 64
DATA_DIGEST = "d" * 64
NOT_CONSUMER = [audience for audience in Audience if audience is not Audience.CONSUMER]
LEVELS = list(FeedbackLevel)
FULL = Disclosure(level=FeedbackLevel.FULL)

WITHHELD = {
    # Internal fields: they only control the agent's view.
    ("Attempt", "disclosure"),
    ("Settlement", "disclosure"),
    # Settlement's own: the rate of a replacement's fee, the source of large thresholds, and what projections count.
    ("Settlement", "fee_rate"),
    ("Settlement", "success_criteria"),
    ("LedgerTransaction", "booking"),
    # For reviewers.
    ("Examination", "files"),
    *(("FileColumns", name) for name in FileColumns.model_fields),
    # It controls the feedback alone.
    ("ScienceResult", "review_quotes"),
    ("OutcomeRecord", "paid_by_correction"),
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


def criterion_result(metric: str = "rougeL", **changes: Any) -> CriterionResult:
    return a_criterion(metric, **({"value": 0.123, "threshold": 0.5, "met": False} | changes))


def result(**changes: Any) -> VerificationResult:
    flag = Flag(rule="r", severity="info", message="flag-message", evidence={"x": "evidence"})
    fields: dict[str, Any] = {
        "verdict": "rejected",
        "success": False,
        "metrics": {"rougeL": 0.123, "word_count": 7, "accuracy": 0.456},
        "provenance": {"rougeL": "computed", "word_count": "computed"},
        "criterion_results": [
            criterion_result(secret=True),
            criterion_result("word_count", metric_type="count", value=7, threshold=9),
        ],
        "bonus": "2",
        "penalty": "3",
        "governance": GovernanceResult(action="allow", flags=(flag,)),
        "candidate_hash": DIGEST,
    }
    return a_result(**(fields | changes))


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


def reports_secrets(visible: Any) -> bool:
    text = json.dumps(visible)
    return "canary" in text or DATA_DIGEST in text


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def test_allow_lists_cover_all_events_audiences_and_nested_models() -> None:
    missing = {
        f"{model.__name__}.{name}: {inner.__name__}"
        for model in ALLOWED
        for name, field in model.model_fields.items()
        for inner in models_in(field.annotation)
        if inner not in ALLOWED and (model.__name__, name) not in WITHHELD
    }
    assert not missing
    assert {topic.data for topic in TOPICS.values()} <= set(ALLOWED)
    assert set(AUDIENCES) == {audience.value for audience in Audience}
    for model, rows in ALLOWED.items():
        assert set(rows) == set(AUDIENCES)
        assert set().union(*rows.values()) <= set(model.model_fields), model.__name__


def test_every_field_is_allowed_or_withheld_by_name() -> None:
    hidden = {
        (model.__name__, name)
        for model, rows in ALLOWED.items()
        for name in model.model_fields
        if not any(name in fields for fields in rows.values())
    }
    assert hidden == WITHHELD


def test_model_without_an_allow_list_is_refused() -> None:
    class WiderWork(Work):
        internal: str = "x"

    for model in (KeywordStats(found=1, density=0.5, list_share=0.0), WiderWork.model_validate(WORK)):
        with pytest.raises(NotForAudience):
            project(model, Audience.OPERATOR)


@pytest.mark.parametrize("audience", NOT_CONSUMER)
def test_only_the_consumer_reads_evaluation_data(audience: Audience) -> None:
    for model in (Evaluation, CustomMetric, GroundTruth):
        assert ALLOWED[model][audience.value] == frozenset()
    work = Work.model_validate(WORK)
    for level in LEVELS:
        visible = project(work, audience, Disclosure(level=level, output=True))
        assert not reports_secrets(visible)
        assert visible["title"] == "t"
    event = ContractAwarded(award=AWARD, work=work, terms=TERMS, evaluation=EvaluationRef(digest=DIGEST, size=1))
    assert not reports_secrets(project(event, audience))
    assert project_event_data(event)["evaluation"] == {"digest": DIGEST, "size": 1}
    assert bool(project(event, audience)) is (audience is Audience.SERVICE)
    assert "evaluation" not in ALLOWED[WorkAnswer][audience.value]


@pytest.mark.parametrize("audience", NOT_CONSUMER)
def test_readers_of_a_work_see_the_demands_of_its_science(audience: Audience) -> None:
    science = project(Work.model_validate(WORK), audience)["science"]
    assert set(science) == set(Science.model_fields) - {"expected_outcome"}
    assert science["question"] == "How fit are the mutants?"
    assert science["statistics"][0]["name"] == "mean_fitness"
    assert science["data"] == [{"name": "scores.csv", "media_type": None}]
    assert Science.model_validate(science) == Science.model_validate(WORK["science"]).without_secrets()


def test_consumer_sees_its_complete_evaluation_data() -> None:
    visible = project(Work.model_validate(WORK), Audience.CONSUMER)
    assert visible["evaluation"] == EVALUATION.model_dump(mode="json")
    assert set(visible["evaluation"]) == EVALUATION_KEYS
    assert visible["science"]["expected_outcome"] == {"mean": "canary-expected"}
    assert visible["science"]["data"][0]["sha256"] == DATA_DIGEST


def values(visible: dict[str, Any]) -> dict[str, Any]:
    return {each["metric"]: each.get("value", "withheld") for each in visible["criterion_results"]}


def test_agent_sees_secret_values_only_at_level_full() -> None:
    visible = project(result(), Audience.AGENT)
    assert values(visible) == {"rougeL": "withheld", "word_count": 7}
    assert visible["metrics"] == {"word_count": 7}
    assert set(visible["provenance"]) == {"word_count"}
    assert values(project(result(), Audience.AGENT, FULL)) == {"rougeL": 0.123, "word_count": 7}


@pytest.mark.parametrize(
    ("secret", "code", "fault", "is_visible"),
    [
        (True, "prediction_count", "agent", False),
        (True, "metric_missing", "agent", True),
        (True, "judge_unreachable", "platform", True),
        (False, "no_predictions", "agent", True),
    ],
)
def test_agent_sees_errors_that_reveal_evaluation_data_only_at_level_full(
    secret: bool, code: str, fault: str, is_visible: bool
) -> None:
    error = {"code": code, "message": "3 predictions for 77 labels", "fault": fault}
    found = result(criterion_results=[criterion_result(secret=secret, value=None, error=error)])
    [visible] = project(found, Audience.AGENT)["criterion_results"]
    assert visible.get("error") == ({"code": code, "fault": fault} if is_visible else None)
    [complete] = project(found, Audience.AGENT, FULL)["criterion_results"]
    assert complete["error"] == error


def test_metric_secret_in_one_criterion_is_hidden_in_all() -> None:
    twice = result(criterion_results=[criterion_result(secret=True), criterion_result(threshold=0.1)])
    assert project(twice, Audience.AGENT)["metrics"] == {}


def test_events_carry_no_recomputed_values() -> None:
    found = Examination(recomputed=(Recomputed(name="hidden", value=0.777, owner=DataOwner.CONSUMER, artifact="own"),))
    judged = result(science=ScienceResult(passed=False, examination=found))
    printed = project(judged, Audience.SERVICE)
    assert "examination" not in printed["science"]
    assert VerificationResult.model_validate(printed | {"criterion_results": ()}).science == ScienceResult(passed=False)
    seen = project(judged, Audience.OPERATOR)["science"]["examination"]
    assert seen["recomputed"][0]["value"] == 0.777


def test_level_none_shows_only_the_verdict_and_a_record_has_its_own_level() -> None:
    visible = project(result(), Audience.AGENT, Disclosure(level=FeedbackLevel.NONE))
    assert visible["verdict"] == "rejected"
    assert not {"criterion_results", "metrics", "provenance", "weighted_score", "bonus", "penalty"} & set(visible)
    assert "criterion_results" not in project(record(FeedbackLevel.NONE), Audience.AGENT)["verification_result"]
    displayed = ["0.123" in json.dumps(project(attempt(level), Audience.AGENT)) for level in LEVELS]
    assert displayed == [level is FeedbackLevel.FULL for level in LEVELS]


@pytest.mark.parametrize("audience", NOT_CONSUMER)
def test_only_the_consumer_reads_the_message_of_failed_custom_code(audience: Audience) -> None:
    failed = criterion_result(error={"code": "custom_metric_failed", "message": "canary", "fault": "platform"})
    found = result(criterion_results=[failed])
    for level in LEVELS:
        assert "canary" not in json.dumps(project(found, audience, Disclosure(level=level)))
    assert "canary" in json.dumps(project(found, Audience.CONSUMER, Disclosure(output=True)))


def test_only_operators_and_services_see_evidence() -> None:
    seen = {audience for audience in Audience if "evidence" in json.dumps(project(result(), audience))}
    assert seen == {Audience.OPERATOR, Audience.SERVICE}


def test_unpaid_consumer_sees_only_the_verdict() -> None:
    visible = project(attempt(), Audience.CONSUMER)
    assert visible["verdict"] == "rejected"
    assert not {"candidate", "result", "feedback", "candidate_hash", "output_hash"} & set(visible)
    unpaid = project(record(), Audience.CONSUMER)
    assert not {"final_result", "execution_metadata"} & set(unpaid)
    assert "candidate_hash" not in unpaid["verification_result"]


def mixed_groups(*, secret: bool = False, value: str = "canary-group") -> MixedGroups:
    groups = [{"value": value, "n": 9, "mean": 0.987, "median": 0.987}]
    where = [{"column": "condition", "op": "eq", "value": f"({value})"}]
    columns = {"measured": "mut_score", "column": "condition", "artifact": "own.csv", "secret": secret}
    return MixedGroups.model_validate({"rule": "range", "groups": groups, "where": where, **columns})


@pytest.mark.parametrize("secret", [False, True])
def test_agent_sees_groups_of_its_own_data_and_only_columns_of_the_consumers(secret: bool) -> None:
    judged = result(science=ScienceResult(passed=False, mixed_groups=(mixed_groups(secret=secret),)))
    for level in (FeedbackLevel.CRITERIA, FeedbackLevel.FULL):
        [seen] = project(judged, Audience.AGENT, Disclosure(level=level))["science"]["mixed_groups"]
        assert (seen["rule"], seen["measured"], seen["column"]) == ("range", "mut_score", "condition")
        assert ("canary-group" in str(seen)) is (not secret or level is FeedbackLevel.FULL)
    assert "canary-group" in str(project(judged, Audience.CONSUMER, Disclosure(output=True)))
    for audience in (Audience.SERVICE, Audience.FINANCE):
        assert "mixed_groups" not in project(judged, audience)["science"]


texts = st.text(max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
provenances = st.sampled_from(Provenance)
errors = st.builds(CriterionError, code=texts, message=texts, fault=st.sampled_from(Fault))


@st.composite
def encoded_results(draw: st.DrawFn) -> VerificationResult:
    """A result in which an agent controls all but the criteria that were met."""
    lines = [
        criterion_result(metric, value=draw(numbers), error=draw(errors | st.none()), provenance=draw(provenances))
        for metric in ("rougeL", "latency_ms")
    ]
    mismatch = ValueMismatch(name=draw(texts), claimed=draw(numbers), actual=draw(numbers), severity="major")
    violation = DomainViolation(name=draw(texts), message=draw(texts), value=draw(numbers))
    science = ScienceResult(
        passed=False,
        reasons=(GateReason(code="value_mismatch", names=(draw(texts),), message=draw(texts)),),
        warnings=draw(st.lists(st.builds(GateReason, code=texts), max_size=2).map(tuple)),
        value_mismatches=(mismatch,) * draw(st.integers(0, 2)),
        domain_violations=(violation,) * draw(st.integers(0, 2)),
        mixed_groups=(mixed_groups(value=draw(texts)),) * draw(st.integers(0, 2)),
        values_plausible=draw(st.none() | st.booleans()),
        examination=Examination(
            recomputed=(Recomputed(name="n", value=draw(numbers), owner="agent", artifact=draw(texts)),)
        ),
    )
    flag = Flag(rule="r", severity="info", message=draw(texts), evidence={"figure": draw(numbers)})
    metrics = draw(st.dictionaries(texts, numbers, max_size=3))
    return result(
        criterion_results=lines,
        metrics=metrics,
        provenance={name: draw(provenances) for name in metrics},
        science=science,
        governance=GovernanceResult(action="allow", flags=(flag,)),
        candidate_hash=draw(st.sampled_from([DIGEST, "b" * 64])),
    )


@given(encoded_results(), encoded_results())
def test_unpaid_results_that_met_the_same_criteria_are_equal_to_their_consumer(
    one: VerificationResult, other: VerificationResult
) -> None:
    assert project(one, Audience.CONSUMER) == project(other, Audience.CONSUMER)
    costs = [cost(TERMS, each, "ctr_1") for each in (one, other)]
    assert project(costs[0], Audience.CONSUMER) == project(costs[1], Audience.CONSUMER)
    paid = project(one, Audience.CONSUMER, Disclosure(output=True))
    assert paid["criterion_results"][0]["value"] == one.criterion_results[0].value
    assert paid["metrics"] == one.metrics
    assert paid["science"]["examination"]["recomputed"][0]["value"] is not None


def test_unpaid_result_shows_the_criteria_met_and_the_codes_of_the_science_gate() -> None:
    gate = ScienceResult(passed=False, reasons=(GateReason(code="value_mismatch", names=("n",), message="m"),))
    visible = project(result(science=gate), Audience.CONSUMER)
    assert [each["met"] for each in visible["criterion_results"]] == [False, False]
    assert visible["science"] == {"passed": False, "reasons": [{"code": "value_mismatch"}]}
    assert visible["weighted_score"] == result().weighted_score
    assert [(each["metric"], each["threshold"]) for each in visible["criterion_results"]] == [
        ("rougeL", 0.5),
        ("word_count", 9),
    ]


@pytest.mark.parametrize(
    ("code", "is_visible"), [("criteria_not_met", True), ("rejected", True), ("fatal", True), ("found_417", False)]
)
def test_verifiers_own_code_is_hidden_from_an_unpaid_consumer(code: str, is_visible: bool) -> None:
    event = ContractEvent(
        contract_id="ctr_1",
        seq=1,
        type=ContractEventType.VERIFICATION_REJECTED,
        attempts_used=1,
        max_attempts=3,
        code=code,
        message="it found 417",
        occurred_at=NOW,
    )
    unpaid = project(event, Audience.CONSUMER)
    assert ("code" in unpaid, "message" in unpaid) == (is_visible, False)
    for audience, disclosure in ((Audience.CONSUMER, Disclosure(output=True)), (Audience.AGENT, Disclosure())):
        assert project(event, audience, disclosure)["code"] == code


def test_paying_consumer_sees_the_delivery() -> None:
    visible = project(attempt(), Audience.CONSUMER, Disclosure(output=True))
    assert visible["candidate"]["output"] == "the output"
    metadata = {"duration_ms": 5, "ttfb_ms": None, "processing_ms": None, "tool": "x"}
    assert visible["candidate"]["execution_metadata"] == metadata
    assert project(record(), Audience.CONSUMER, Disclosure(output=True))["final_result"] == "the output"


def test_parties_and_operators_see_the_feedback_on_a_contract() -> None:
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


def test_candidates_are_hidden_from_finance_and_services() -> None:
    hidden = {audience for audience in Audience if not project(CANDIDATE, audience)}
    assert hidden >= {Audience.FINANCE, Audience.SERVICE}
    assert Audience.OPERATOR not in hidden


@pytest.mark.parametrize("audience", list(Audience))
def test_view_is_plain_json(audience: Audience) -> None:
    for model in (record(), attempt(), AWARD, Work.model_validate(WORK)):
        assert json.loads(json.dumps(project(model, audience), allow_nan=False)) == project(model, audience)
