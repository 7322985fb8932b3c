"""The cost of an outcome, against exact rationals and case by case."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from aex_models.contract import Terms
from aex_models.cost import cost, to_billing_impact
from aex_models.governance import Action, GovernanceResult
from aex_models.money import MAX_AMOUNT, format_amount
from aex_models.results import Verdict, VerificationResult
from aex_models.settlement import Cost
from aex_models.work import BasePolicy
from tests.examples import examples
from tests.libs.models.rationals import exact
from tests.libs.models.results import CONTRACT, a_criterion, a_result, results, terms


@given(terms, results())
@settings(max_examples=examples(500))
def test_cost_equals_the_exact_rational(agreed: Terms, result: VerificationResult) -> None:
    amounts = cost(agreed, result)
    for name, expected in exact(agreed, result).items():
        assert Fraction(getattr(amounts, name)) == expected, name
    assert amounts.base + amounts.bonus - amounts.penalty == amounts.total
    assert 0 <= amounts.fee <= amounts.total
    assert Cost.model_validate_json(amounts.model_dump_json()) == amounts


@given(terms, results())
@settings(max_examples=examples(300))
def test_lines_sum_to_bonus_and_penalty_before_caps(agreed: Terms, result: VerificationResult) -> None:
    amounts = cost(agreed, result)
    assert sum(line.amount for line in amounts.lines if line.met) == amounts.bonus + amounts.bonus_capped
    assert -sum(line.amount for line in amounts.lines if not line.met) == amounts.penalty + amounts.penalty_waived
    for line, of in zip(amounts.lines, result.criterion_results, strict=True):
        assert line.amount in {0, of.bonus if of.met else -of.penalty}


def visible(amounts: Cost, names: str) -> str:
    """Some of a cost's amounts, as they are written."""
    return " ".join(format_amount(getattr(amounts, name)) for name in names.split())


def priced(**changes: Any) -> Terms:
    return Terms(**({"cpc_rate": Decimal("1.00")} | changes))


REJECTED = {"verdict": Verdict.REJECTED, "success": False}


@pytest.mark.parametrize(
    ("agreed", "result", "amounts"),
    [
        ({}, REJECTED, "1.00 0.00 0.00 0.00 0.00 1.00"),
        ({"base_policy": BasePolicy.ON_SUCCESS}, REJECTED, "0.00 0.00 0.00 0.00 0.00 0.00"),
        ({"base_policy": BasePolicy.ON_SUCCESS}, {}, "1.00 0.00 0.00 0.00 0.00 1.00"),
        ({}, {"bonus": "5.00", "governance": GovernanceResult(action=Action.REJECT)}, "0.00 0.00 0.00 0.00 0.00 0.00"),
        (
            {},
            {"verdict": Verdict.INDETERMINATE, "success": False, "bonus": "5.00", "penalty": "2.00"},
            "0.00 0.00 0.00 0.00 0.00 0.00",
        ),
        ({"max_cpa_total": None}, {"bonus": "5.00"}, "1.00 5.00 0.00 0.00 0.00 6.00"),
        ({"max_cpa_total": "0"}, {"bonus": "5.00"}, "1.00 0.00 5.00 0.00 0.00 1.00"),
        ({"max_cpa_total": "3.00"}, {"bonus": "5.00"}, "1.00 3.00 2.00 0.00 0.00 4.00"),
        ({}, {"bonus": "0.50", "penalty": "4.00"}, "1.00 0.50 0.00 1.50 2.50 0.00"),
        ({"max_penalty_total": "0.25"}, {"penalty": "4.00"}, "1.00 0.00 0.00 0.25 3.75 0.75"),
    ],
)
def test_cost_follows_verdict_caps_and_floor(agreed: dict[str, Any], result: dict[str, Any], amounts: str) -> None:
    names = "base bonus bonus_capped penalty penalty_waived total"
    assert visible(cost(priced(**agreed), a_result(**result)), names) == amounts


def test_contract_without_a_verdict_costs_nothing_and_the_fee_is_a_share_of_the_total() -> None:
    nothing = cost(priced(), None, CONTRACT)
    assert (str(nothing.total), nothing.contract_id, len(nothing.lines)) == ("0", CONTRACT, 0)
    assert cost(priced(fee_rate="0.05"), a_result(bonus="1.00")).fee == Decimal("0.10")


def test_criterion_has_a_line_with_its_gross_amount() -> None:
    met = a_criterion("rougeL", bonus="2.00", penalty="9.00")
    missed = a_criterion("rouge1", bonus="9.00", penalty="0.30", met=False, secret=True)
    lines = cost(priced(), a_result(bonus="2.00", penalty="0.30", criterion_results=(met, missed))).lines
    assert [(line.metric, line.met, line.amount) for line in lines] == [
        ("rougeL", True, Decimal("2.00")),
        ("rouge1", False, Decimal("-0.30")),
    ]
    assert [line.secret for line in lines] == [False, True]


@pytest.mark.parametrize(
    ("verified", "amounts"),
    [
        ({"bonus": "2.00", "penalty": "0.30"}, ["2.00", "-0.30"]),
        ({"penalty": "0.30", "success": False, "verdict": Verdict.REJECTED}, ["0.00", "-0.30"]),
        ({}, ["0.00", "0.00"]),
        ({"bonus": "2.00", "penalty": "0.30", "governance": GovernanceResult(action=Action.REJECT)}, ["0.00", "-0.30"]),
        ({"bonus": "2.00", "penalty": "0.30", "verdict": Verdict.INDETERMINATE}, ["0.00", "0.00"]),
    ],
    ids=["paid", "on success, without", "released undecided", "rejected by governance", "indeterminate"],
)
def test_line_of_an_unpaid_part_has_no_amount(verified: dict[str, Any], amounts: list[str]) -> None:
    criteria = a_criterion("rougeL", bonus="2.00"), a_criterion("rouge1", penalty="0.30", met=False)
    lines = cost(priced(), a_result(criterion_results=criteria, **verified)).lines
    assert [format_amount(line.amount) for line in lines] == amounts


def test_largest_amounts_have_a_cost() -> None:
    amounts = cost(priced(cpc_rate=MAX_AMOUNT, fee_rate="1"), a_result(bonus=MAX_AMOUNT))
    assert amounts.total == amounts.fee == 2 * MAX_AMOUNT


def test_billing_impact_has_the_four_amounts() -> None:
    impact = to_billing_impact(cost(priced(), a_result(bonus="0.50", penalty="0.20")))
    assert impact.model_dump(mode="json") == {"base": "1.00", "bonus": "0.50", "penalty": "0.20", "total": "1.30"}
