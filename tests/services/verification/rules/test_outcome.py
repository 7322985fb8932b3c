"""Who may read what an outcome holds: the candidate is its consumer's once it is paid for."""

from decimal import Decimal

import pytest

from aex_models.contract import Terms
from aex_models.outcome import OutcomeRecord
from aex_verification.rules.outcome import outcome_id, paid_for
from tests.libs.models.results import a_result
from tests.services.settlement.outcomes import an_outcome

FREE = Terms(cpc_rate=Decimal(0), fee_rate=Decimal("0.10"))
FAILED = a_result(contract_id="ctr_1", success=False)


@pytest.mark.parametrize(
    ("record", "readable"),
    [
        (None, False),
        (an_outcome(), True),
        (an_outcome(terms=FREE), True),
        (an_outcome(terms=FREE, verification_result=FAILED), False),
        (an_outcome(terms=FREE, verification_result=None), False),
        (an_outcome(verification_result=FAILED), True),
    ],
    ids=["open", "passed", "passed for nothing", "failed for nothing", "never judged", "failed and to be paid"],
)
def test_a_candidate_is_readable_once_it_succeeded_or_costs_something(
    record: OutcomeRecord | None, readable: bool
) -> None:
    assert paid_for(record) is readable


def test_a_contract_has_one_outcome_whose_id_follows_from_its_own() -> None:
    assert outcome_id("ctr_9") == "out_9"
