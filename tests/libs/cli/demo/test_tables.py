from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aex_cli.demo.tables import build_balance_rows_with_sums, build_verdict_rows, sum_balances_by_currency
from aex_cli.examples import read_example_work
from aex_client import VerificationView
from aex_models.money import format_amount, from_micros
from aex_models.settlement import AccountBalance


def verdict(success: bool, *results: dict[str, Any]) -> VerificationView:
    return VerificationView.model_validate(
        {
            "verification_id": "ver_1",
            "contract_id": "ctr_1",
            "verdict": "passed" if success else "rejected",
            "success": success,
            "criterion_results": results,
            "governance": {"action": "skipped", "decided_by": "nobody"},
            "engine_version": "1",
            "verified_at": "2026-01-01T00:00:00Z",
        }
    )


def criterion(metric: str, met: bool, **further: Any) -> dict[str, Any]:
    return {
        "metric": metric,
        "metric_type": "numeric",
        "comparison": "gte",
        "threshold": 0,
        "met": met,
        "required": True,
        "weight": 1,
        "bonus": "0.20",
        "penalty": "0.10",
        **further,
    }


def rows(success: bool, *results: dict[str, Any]) -> list[tuple[str, ...]]:
    criteria = read_example_work("summary").success_criteria
    assert criteria is not None
    return build_verdict_rows(criteria, verdict(success, *results))


def test_row_has_the_bonus_of_a_success_or_the_penalty_of_an_unmet_criterion() -> None:
    met, unmet = criterion("rougeL", True, value=0.62564), criterion("output_length", False, value=108)
    assert rows(True, met, unmet) == [
        ("rougeL", "0.626", "at least 0.45", "yes", "+0.20"),
        ("output_length", "108", "400 to 800", "no", "-0.10"),
    ]
    assert rows(False, met)[0][-1] == ""


def test_hidden_value_and_error_code_replace_the_value() -> None:
    error = {"code": "metric_missing", "message": "no duration_ms"}
    visible = rows(False, criterion("rougeL", False), criterion("latency_ms", False, error=error))
    assert [row[1] for row in visible] == ["hidden", "metric_missing"]


@given(st.lists(st.tuples(st.sampled_from(("USD", "EUR")), st.integers(-(10**12), 10**12)), max_size=20))
def test_each_currency_has_an_exact_sum(entries: list[tuple[str, int]]) -> None:
    accounts = [
        AccountBalance(account=f"agent:{place}", currency=currency, balance=from_micros(micros))
        for place, (currency, micros) in enumerate(entries)
    ]
    expected = {
        currency: sum((from_micros(micros) for each, micros in entries if each == currency), Decimal(0))
        for currency, _ in entries
    }
    assert sum_balances_by_currency(accounts) == expected
    assert len(build_balance_rows_with_sums(accounts)) == len(entries) + len(expected)
    assert all(
        ("sum", format_amount(total), currency) in build_balance_rows_with_sums(accounts)
        for currency, total in expected.items()
    )
