"""The fields of each model that each audience may read, as data for `audiences.project`."""

from collections.abc import Mapping

from pydantic import BaseModel

from aex_models import batch as b
from aex_models import catalog as cat
from aex_models import contract as c
from aex_models import contract_events as ce
from aex_models import criteria as cr
from aex_models import domains as d
from aex_models import evaluation
from aex_models import events as e
from aex_models import examination as ex
from aex_models import governance as g
from aex_models import grader_data as gd
from aex_models import hidden_tests as ht
from aex_models import outcome as o
from aex_models import results as r
from aex_models import science as sci
from aex_models import settlement as s
from aex_models import statistics as st
from aex_models import tables as tab
from aex_models import work as w

Rows = Mapping[str, frozenset[str]]
AUDIENCES = ("consumer", "agent", "finance", "operator", "service")


def _row(everyone: str = "", parties: str = "", **further: str) -> Rows:
    """Return the allowed fields by audience. Each argument holds field names separated by spaces.

    `everyone`: fields for all audiences. `parties`: fields for consumer, agent and operator.
    `further`: the name of an audience, and fields for this audience alone.
    """
    shared = {audience: f"{everyone} {parties if audience in _PARTIES else ''}" for audience in AUDIENCES}
    return {audience: frozenset(f"{text} {further.get(audience, '')}".split()) for audience, text in shared.items()}


_PARTIES = ("consumer", "agent", "operator")


_WORK = _row(
    "work_id consumer_id title description domain input success_criteria budget verification science allow_claims "
    "status created_at",
    consumer="evaluation",
)

_INTERNAL = frozenset({(ex.Examination, "files")})
"""Fields for the platform's own use."""

_CONFIDENTIAL = "review review_failure reviewer examination"


def _allow_all_fields(model: type[BaseModel]) -> Rows:
    """Return a row that shows every field of `model` to consumers and operators, and nothing to others.

    It is used for examinations. They hold values recomputed from the consumer's own data, so no event carries them.
    """
    fields = " ".join(name for name in model.model_fields if (model, name) not in _INTERNAL)
    return _row(consumer=fields, operator=fields)


ALLOWED: Mapping[type[BaseModel], Rows] = {
    # work
    w.Work: _WORK,
    w.WorkAnswer: _row(consumer=" ".join([*_WORK["consumer"], "warnings", "quote"])),
    w.CheckedWork: _row(consumer=" ".join([*_WORK["consumer"], "problems", "warnings"])),
    w.WorkValidation: _row(consumer="valid problems warnings quote"),
    w.Budget: _row("max_cpc max_cpa_total max_penalty_total base_policy currency"),
    w.VerificationPolicy: _row("max_attempts feedback verifier deadline_s"),
    evaluation.Evaluation: _row(consumer=" ".join(evaluation.Evaluation.model_fields)),
    evaluation.NamedData: _row(consumer=" ".join(evaluation.NamedData.model_fields)),
    evaluation.GroundTruth: _row(consumer="label id"),
    evaluation.CustomMetric: _row(consumer="name code"),
    gd.NumericAnswer: _row(consumer="value abs_tol rel_tol units at"),
    gd.ChoiceAnswer: _row(consumer="correct options at"),
    gd.ExpectedRecords: _row(consumer="items fields key at"),
    gd.NumberComparator: _row(consumer="number"),
    gd.NumberTolerance: _row(consumer="abs rel"),
    gd.DateComparator: _row(consumer="date"),
    gd.FuzzyComparator: _row(consumer="fuzzy"),
    gd.ExpectedRanking: _row(consumer="relevance k at"),
    gd.Target: _row(consumer="value id"),
    gd.SqlTask: _row(consumer="tables expected ordered names float_tol at"),
    gd.SqlTable: _row(consumer="columns column_order rows"),
    gd.SqlResult: _row(consumer="query columns rows"),
    ht.HiddenTests: _row(consumer=" ".join(ht.HiddenTests.model_fields)),
    ht.IoCase: _row(consumer="stdin stdout match"),
    w.EvaluationRef: _row(service="digest size"),
    w.LintWarning: _row(consumer="code path message suggestion", service="code path message suggestion"),
    w.Problem: _row("path code message"),
    w.Quote: _row("currency minimum maximum"),
    w.QuoteCase: _row("base bonus penalty total success met unmet"),
    cr.SuccessCriteria: _row("criteria aggregation minimum_weighted_score bonus_policy"),
    cr.SuccessCriterion: _row("metric metric_type comparison threshold weight required bonus penalty scale"),
    sci.Science: _row(
        "original_goal question domain reviewer_sees_expected outcome_criteria output_constraints statistics joins "
        "derived data checks strict share_review",
        consumer="expected_outcome",
    ),
    sci.Constraint: _row("min max typical"),
    sci.DataFile: _row("name media_type", consumer="sha256"),
    st.StatisticSpec: _row("name stat column columns q groups alternative alpha where artifact tolerance"),
    st.Filter: _row("column op value abs"),
    tab.DerivedColumn: _row("artifact column expression"),
    tab.Join: _row("name left right on how"),
    d.Domain: _row(" ".join(d.Domain.model_fields)),
    d.ValueRange: _row(" ".join(d.ValueRange.model_fields)),
    d.Recipe: _row(" ".join(d.Recipe.model_fields)),
    d.SanityCheck: _row(" ".join(d.SanityCheck.model_fields)),
    d.DomainGuess: _row("domain scores"),
    cat.MetricEntry: _row(
        "name description unit range direction provenance metric_types needs requires secret at cost named"
    ),
    # contracts
    c.Award: _row("contract_id work_id consumer agent_id cpc_rate terms deadline awarded_at"),
    c.Terms: _row("cpc_rate max_cpa_total max_penalty_total base_policy currency fee_rate"),
    c.Contract: _row(
        "contract_id work_id consumer_id agent_id status attempts_used max_attempts deadline current_attempt "
        "cause state_version awarded_at updated_at",
        parties="last_feedback",
    ),
    c.Candidate: _row(parties="output execution_metadata claimed_metrics claimed_values reasoning artifacts"),
    c.ExecutionMetadata: _row(parties="duration_ms ttfb_ms processing_ms"),
    c.Artifact: _row(parties="name media_type content content_base64 sha256"),
    c.UploadedArtifact: _row(consumer="sha256 size", agent="sha256 size"),
    c.Attempt: _row(
        "attempt_id contract_id status verdict counted replay received_at judged_at",
        parties="candidate_hash output_hash result candidate feedback",
        agent="errors",
        operator="errors system_retries",
    ),
    ce.ContractEvent: _row(
        "contract_id seq type attempt_id attempts_used max_attempts attempt_counted code cause occurred_at",
        parties="message",
    ),
    # results
    r.VerificationResult: _row(
        "verification_id contract_id verdict success metrics provenance criterion_results weighted_score bonus "
        "penalty science governance governance_flags candidate_hash engine_version verified_at",
        consumer="details",
        operator="details",
    ),
    r.CriterionResult: _row(
        "metric metric_type value criterion threshold comparison met required weight bonus penalty error provenance",
        service="secret",
    ),
    r.CriterionError: _row("code message fault"),
    g.GovernanceResult: _row("action decided_by flags"),
    g.Flag: _row(
        "rule severity", consumer="message", finance="message", operator="message evidence", service="message evidence"
    ),
    g.Party: _row("id org"),
    sci.ScienceResult: _row(
        "passed reasons warnings",
        parties="value_mismatches domain_violations mixed_groups values_plausible values_consistent",
        consumer=_CONFIDENTIAL,
        operator=_CONFIDENTIAL,
        service="value_mismatches domain_violations values_plausible values_consistent review review_failure reviewer",
    ),
    sci.GateReason: _row("code names message"),
    sci.ScientificReview: _row(
        # Its words may quote what a reviewer was shown in confidence: they go to the work's consumer and to operators.
        consumer=" ".join(sci.ScientificReview.model_fields),
        operator=" ".join(sci.ScientificReview.model_fields),
        service="outcome_verdict scientific_validity confidence recommendation",
    ),
    sci.Reviewer: _row(
        consumer="model prompt_version", operator="model prompt_version", service="model prompt_version"
    ),
    ex.ValueMismatch: _row(
        "name claimed severity", parties="actual relative_error", service="actual relative_error secret"
    ),
    ex.DomainViolation: _row("name message value min max source", service="secret"),
    ex.MixedGroups: _row(
        parties="rule measured column artifact groups where statistics", consumer="secret", operator="secret"
    ),
    ex.GroupSummary: _row(parties="value n mean median"),
    ex.FileColumns: _row(),
    ex.Examination: _allow_all_fields(ex.Examination),
    ex.Recomputed: _allow_all_fields(ex.Recomputed),
    ex.Reconciliation: _allow_all_fields(ex.Reconciliation),
    ex.DataProblem: _allow_all_fields(ex.DataProblem),
    # batches
    b.BatchSummary: _row(consumer=" ".join(b.BatchSummary.model_fields)),
    b.CriterionSummary: _row(consumer=" ".join(b.CriterionSummary.model_fields)),
    b.Proportion: _row(consumer=" ".join(b.Proportion.model_fields)),
    # outcomes
    o.OutcomeRecord: _row(
        "id contract_id work_id agent_id consumer_id domain final_status success_criteria verification_result "
        "attempts_used terms billing_impact stored created_at",
        parties="final_result execution_metadata",
        operator="disclosure",
        service="disclosure",
    ),
    o.BillingImpact: _row("base bonus penalty total"),
    # governance
    g.ValidationDecision: _row(operator="valid action flags risk_score", service="valid action flags risk_score"),
    g.Hold: _row(
        operator=(
            "hold_id contract_id attempt_id cause flags status held_at decision reason decided_by decided_at "
            "agent_id consumer_id work_id domain"
        )
    ),
    g.Rule: _row("name description actions thresholds threshold_notes enabled"),
    g.AgentProfile: _row(
        agent="agent_id outcomes successes success_rate final_statuses domains",
        operator="agent_id outcomes successes success_rate final_statuses decisions flags domains",
        service="agent_id outcomes successes success_rate final_statuses decisions flags domains",
    ),
    g.DomainProfile: _row(
        agent="domain outcomes successes success_rate final_statuses",
        operator="domain outcomes successes success_rate final_statuses decisions flags metrics",
        service="domain outcomes successes success_rate final_statuses decisions flags metrics",
    ),
    g.MetricProfile: _row(operator="count median mad", service="count median mad"),
    # settlement
    s.Settlement: _row(
        "contract_id work_id agent_id consumer_id domain success final_status verdict status revision revisions cost "
        "settled_at"
    ),
    s.SettlementRevision: _row("revision cost settled_at reversed_at reason", finance="by", operator="by"),
    s.Cost: _row("contract_id currency base bonus penalty bonus_capped penalty_waived fee total lines breakdown"),
    s.CostLine: _row("metric value criterion threshold comparison met amount", service="secret"),
    s.Breakdown: _row("cpc cpa_bonus cpa_penalty"),
    s.LedgerTransaction: _row("id contract_id kind postings occurred_at reason", finance="by"),
    s.Posting: _row("account amount currency"),
    s.AccountEntry: _row("transaction_id contract_id kind account amount currency occurred_at reason balance"),
    s.AccountBalance: _row("account currency balance"),
    s.Account: _row("account as_of complete_to balances"),
    s.TrialBalance: _row(finance="as_of complete_to accounts"),
    s.SettlementBreakdown: _row("rows totals complete_to"),
    s.BreakdownRow: _row(
        "agent consumer domain day month currency count success_count cpc cpa_bonus cpa_penalty total"
    ),
    # events: services alone
    e.WorkSubmitted: _row(service="work_id has_cpa consumer_id domain evaluation custom_metrics"),
    e.WorkChecked: _row(service="work_id ok problems warnings"),
    e.ContractAwarded: _row(service="award work terms evaluation"),
    e.OutputSubmitted: _row(service="contract_id attempt_id"),
    e.OutputRejected: _row(service="contract_id attempt_id code"),
    e.OutcomeHeld: _row(service="contract_id attempt_id cause flags"),
    e.OutcomeReviewed: _row(service="hold_id contract_id attempt_id decision reason by"),
    e.OutcomeVerified: _row(service="outcome"),
    e.ContractCancelled: _row(service="contract_id work_id cause"),
    e.SettlementCompleted: _row(service="contract_id revision cost"),
    e.SettlementAdjusted: _row(service="contract_id revision cost"),
}
