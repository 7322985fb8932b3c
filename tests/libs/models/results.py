"""Random and hand-made verification results, for the tests of money."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from aex_models.contract import Terms
from aex_models.governance import Action, GovernanceResult
from aex_models.money import from_micros
from aex_models.results import CriterionResult, Verdict, VerificationResult
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_models.work import BasePolicy

NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)
CONTRACT = "ctr_1"

micros = st.integers(0, 10**15)
amounts = st.one_of(st.integers(0, 50), st.integers(0, 10**9), micros).map(from_micros)
parts = st.one_of(st.integers(0, 50), st.integers(0, 10**9), st.integers(0, 10**14)).map(from_micros)
"""Amounts of which ten sum to a valid amount."""
rates = st.integers(0, 10**6).map(from_micros)


def a_criterion(metric: str = "rougeL", **changes: Any) -> CriterionResult:
    """A criterion that was met, without money, unless said otherwise."""
    fields: dict[str, Any] = {
        "metric": metric,
        "metric_type": MetricType.ROUGE_SCORE,
        "value": 0.5,
        "threshold": 0.4,
        "comparison": ComparisonOperator.GTE,
        "met": True,
        "required": True,
        "weight": 1.0,
    }
    return CriterionResult(**(fields | changes))


def a_result(**changes: Any) -> VerificationResult:
    """A result that passed, allowed by governance, without money, unless said otherwise."""
    fields: dict[str, Any] = {
        "verification_id": "ver_1",
        "contract_id": CONTRACT,
        "verdict": Verdict.PASSED,
        "success": True,
        "weighted_score": 1.0,
        "governance": GovernanceResult(action=Action.ALLOW),
        "engine_version": "1",
        "verified_at": NOW,
    }
    return VerificationResult(**(fields | changes))


@st.composite
def results(draw: st.DrawFn) -> VerificationResult:
    criteria = draw(st.lists(st.tuples(parts, parts, st.booleans()), max_size=10))
    success = draw(st.booleans())
    lines = [
        a_criterion(f"m{position}", bonus=bonus, penalty=penalty, met=met)
        for position, (bonus, penalty, met) in enumerate(criteria)
    ]
    earned, incurred = draw(st.tuples(st.booleans(), st.booleans()))
    return a_result(
        verdict=draw(st.sampled_from(Verdict)),
        success=success,
        criterion_results=tuple(lines),
        bonus=sum((each.bonus for each in lines if each.met and earned), Decimal(0)),
        penalty=sum((each.penalty for each in lines if not each.met and incurred), Decimal(0)),
        governance=GovernanceResult(action=draw(st.sampled_from(Action))),
    )


terms = st.builds(
    Terms,
    cpc_rate=amounts,
    max_cpa_total=st.none() | amounts,
    max_penalty_total=st.none() | amounts,
    base_policy=st.sampled_from(BasePolicy),
    currency=st.sampled_from(["USD", "EUR", "JPY"]),
    fee_rate=rates,
)
