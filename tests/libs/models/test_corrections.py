from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.audiences import Audience, NotForAudience, project
from aex_models.canonical import canonical_bytes
from aex_models.corrections import Booking, ReversalRequest
from aex_models.settlement import LedgerTransaction, Posting, TransactionKind
from tests.libs.models.results import NOW

LESS = {"base": "0.80", "bonus": 0, "penalty": "0.300000"}
micros = st.integers(-(2**53) + 1, 2**53 - 1)


def a_booking(**changes: Any) -> Booking:
    figures = dict.fromkeys(("count", "success_count", "cpc", "cpa_bonus", "cpa_penalty", "total", "fee"), 0)
    parties = {"work_id": "work_1", "agent_id": "bot", "consumer_id": "acme", "domain": "general"}
    return Booking(**({"revision": 1} | figures | parties | changes))


def test_replacement_is_exact_money() -> None:
    request = ReversalRequest.model_validate({"reason": "wrong rate", "replacement": LESS})
    assert request.replacement is not None
    assert (request.replacement.base, request.replacement.bonus) == (Decimal("0.8"), Decimal(0))
    assert (request.replacement.penalty, request.revision) == (Decimal("0.3"), None)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "reason"),
        ({"reason": ""}, "reason"),
        ({"reason": "x" * 301}, "reason"),
        ({"reason": "x", "revision": 0}, "revision"),
        ({"reason": "x", "revision": True}, "revision"),
        ({"reason": "x", "replacement": {"base": "1"}}, "replacement.bonus"),
        ({"reason": "x", "replacement": LESS | {"base": "-0.01"}}, "replacement.base"),
        ({"reason": "x", "replacement": LESS | {"base": 1e-7}}, "replacement.base"),
        ({"reason": "x", "replacement": LESS | {"base": "1_000"}}, "replacement.base"),
        ({"reason": "x", "replacement": LESS | {"total": "1"}}, "replacement.total"),
    ],
)
def test_bad_correction_is_refused_with_its_path(body: dict[str, Any], at: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ReversalRequest.model_validate(body)
    assert at in {".".join(map(str, problem["loc"])) for problem in refused.value.errors()}


@given(micros, micros)
def test_booking_keeps_exact_signed_figures(cpc: int, total: int) -> None:
    booking = a_booking(count=-1, cpc=cpc, total=total)
    assert Booking.model_validate_json(canonical_bytes(booking)) == booking


@pytest.mark.parametrize("wrong", [{"revision": 0}, {"count": 1.0}, {"total": "5"}, {"cpc": True}, {"more": 1}])
def test_booking_accepts_only_integers(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        a_booking(**wrong)


@pytest.mark.parametrize("audience", list(Audience))
def test_booking_is_hidden_from_every_audience(audience: Audience) -> None:
    with pytest.raises(NotForAudience):
        project(a_booking(), audience)
    sides = tuple(Posting(account=name, amount=0, currency="USD") for name in ("consumer:acme", "agent:bot"))
    posted = LedgerTransaction(
        id="txn_1", kind=TransactionKind.SETTLEMENT, postings=sides, occurred_at=NOW, booking=a_booking()
    )
    assert "booking" not in project(posted, audience)
