"""Rules of settlements: which outcomes are settled, how they are corrected, and who may read them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import FINAL_STATUSES, ContractStatus
from aex_models.corrections import Replacement, ReversalRequest
from aex_models.cost import cost
from aex_models.large_thresholds import restore_settlement_thresholds
from aex_models.money import ZERO, format_amount, multiply_by_rate
from aex_models.outcome import BillingImpact, OutcomeRecord
from aex_models.settlement import Breakdown, Cost, Settlement, SettlementRevision, SettlementStatus
from aex_models.work import Problem
from aex_runtime.errors import Conflict, InvalidRequest
from aex_runtime.identity.principals import Principal
from aex_settlement.rules.transactions import agent_account, consumer_account, is_account_name

SETTLED_STATUSES = FINAL_STATUSES - {ContractStatus.CANCELLED}
"""Final statuses of contracts that have an outcome; a cancelled contract has none."""


class SettlementRefused(Exception):
    """Error for an outcome that cannot be settled.

    `code` is stable; `detail` names fields and never quotes values.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


def check_outcome_and_recompute_cost(outcome: OutcomeRecord) -> Cost:
    """Return the cost that follows from an outcome's terms and result.

    Raises `SettlementRefused` if the outcome contradicts itself, for example in its `billing_impact`.
    """
    if outcome.final_status not in SETTLED_STATUSES:
        raise SettlementRefused("outcome_not_final", f"final_status is {outcome.final_status}")
    result = outcome.verification_result
    if result is not None and result.contract_id != outcome.contract_id:
        raise SettlementRefused(
            "result_of_another_contract", "verification_result.contract_id differs from contract_id"
        )
    for account in (consumer_account(outcome.consumer_id), agent_account(outcome.agent_id)):
        if not is_account_name(account):
            raise SettlementRefused("unknown_account", "consumer_id or agent_id cannot name an account")
    amounts = cost(outcome.terms, result, outcome.contract_id)
    wrong = _differing_fields(amounts, outcome.billing_impact, BillingImpact.model_fields)
    if wrong:
        raise SettlementRefused("billing_impact_disagrees", f"recomputed cost differs in {', '.join(wrong)}")
    return amounts


def require_same_outcome(settlement: Settlement, outcome: OutcomeRecord, amounts: Cost) -> None:
    """Raise `SettlementRefused` if an outcome differs from the one with which the contract was settled.

    Cost, work and parties are compared.
    """
    settled = settlement.revisions[0].cost
    wrong = _differing_fields(settled, amounts, (*BillingImpact.model_fields, "fee", "currency"))
    wrong += _differing_fields(settlement, outcome, ("work_id", "agent_id", "consumer_id"))
    if wrong:
        raise SettlementRefused("settled_otherwise", f"the contract is settled with another {', '.join(wrong)}")


def _differing_fields(one: BaseModel, other: BaseModel, names: Iterable[str]) -> list[str]:
    return [name for name in names if getattr(one, name) != getattr(other, name)]


_TICK = timedelta(microseconds=1)
MAX_REVISIONS = 100
"""Revisions per contract; one record holds them all."""


def require_nonnegative_replacement(replacement: Replacement | None) -> None:
    """Raise `InvalidRequest` if the total of a replacement is below 0."""
    total = ZERO if replacement is None else replacement.base + replacement.bonus - replacement.penalty
    if total < 0:
        message = f"base + bonus − penalty is {format_amount(total)}: lower the penalty, a cost is never below 0"
        problem = Problem(path="/replacement", code="negative_total", message=message)
        raise InvalidRequest(problem.code, message, [problem])


def require_correctable(settlement: Settlement, requested_revision: int | None, read_revision: int | None) -> None:
    """Raise `Conflict` if the settlement's current revision cannot be reversed.

    The current revision must equal `requested_revision` and `read_revision`, unless these are None. It must not be
    reversed yet.
    """
    current = settlement.revision
    if current != (requested_revision or current) or current != (read_revision or current):
        raise Conflict("revision_changed", f"the settlement is at revision {current} now: read it and decide again")
    if settlement.status is SettlementStatus.REVERSED:
        message = f"revision {settlement.revision} is reversed already, without a replacement"
        raise Conflict("already_reversed", message)


def compute_replacement_cost(settlement: Settlement, replacement: Replacement) -> Cost:
    """Return the cost that replaces a reversed one: amounts set by finance, and the fee of the terms."""
    total = replacement.base + replacement.bonus - replacement.penalty
    return Cost(
        contract_id=settlement.contract_id,
        currency=settlement.cost.currency,
        base=replacement.base,
        bonus=replacement.bonus,
        penalty=replacement.penalty,
        bonus_capped=ZERO,
        penalty_waived=ZERO,
        fee=multiply_by_rate(total, settlement.fee_rate),
        total=total,
        breakdown=Breakdown(cpc=replacement.base, cpa_bonus=replacement.bonus, cpa_penalty=replacement.penalty),
    )


def build_zero_cost(settlement: Settlement) -> Cost:
    """Return a cost of zero, as that of a reversed settlement."""
    return compute_replacement_cost(settlement, Replacement(base=ZERO, bonus=ZERO, penalty=ZERO))


def choose_reversal_time(settlement: Settlement, now: datetime) -> datetime:
    """Return the time of a reversal: `now`, but always later than the settlement that it reverses.

    The time is an even microsecond, and the replacement gets the odd one after it. Days and export periods end at even
    microseconds, so that none contains only half of a correction.
    """
    at = max(now, settlement.revisions[-1].settled_at + _TICK)
    return at + _TICK * (at.microsecond % 2)


def choose_replacement_time(reversed_at: datetime) -> datetime:
    """Return the time of the revision that replaces one reversed at `reversed_at`: a microsecond later."""
    return reversed_at + _TICK


def apply_correction(
    settlement: Settlement, request: ReversalRequest, cost: Cost | None, by: str, at: datetime
) -> Settlement:
    """Return the settlement with its latest revision reversed and, with a `cost`, the next one added.

    Raises `Conflict` for a revision beyond `MAX_REVISIONS`.
    """
    if cost is not None and settlement.revision >= MAX_REVISIONS:
        message = f"revision {settlement.revision} is the last one of a contract: it can only be reversed"
        raise Conflict("too_many_revisions", message)
    *earlier, latest = settlement.revisions
    reversed_revision = latest.model_copy(update={"reversed_at": at, "reason": request.reason, "by": by})
    revisions = (*earlier, reversed_revision)
    if cost is None:
        return settlement.model_copy(update={"status": SettlementStatus.REVERSED, "revisions": revisions})
    revision = settlement.revision + 1
    replacement = SettlementRevision(revision=revision, cost=cost, settled_at=choose_replacement_time(at))
    return settlement.model_copy(update={"revision": revision, "revisions": (*revisions, replacement), "cost": cost})


READERS = (Audience.FINANCE, Audience.CONSUMER, Audience.AGENT)
_OWN = {Audience.CONSUMER: "consumer", Audience.AGENT: "agent"}


@dataclass(frozen=True, slots=True)
class SettlementFilter:
    """Filter of settlements: required values by field or dimension, and first and last UTC day."""

    equal: Mapping[str, str]
    first_day: str | None = None
    last_day: str | None = None


def own_dimension_filter(principal: Principal) -> dict[str, str]:
    """Return the dimension and id to which a reader's breakdowns are limited; empty for finance."""
    return {} if principal.role is Audience.FINANCE else {_OWN[principal.role]: principal.id}


def own_party_filter(principal: Principal) -> dict[str, str]:
    """Return the field and id to which a reader's settlements are limited; empty for finance."""
    return {f"{name}_id": value for name, value in own_dimension_filter(principal).items()}


def may_read_settlement(principal: Principal, settlement: Settlement) -> bool:
    """Return whether the principal is finance or a party of the settlement."""
    return all(getattr(settlement, name) == value for name, value in own_party_filter(principal).items())


def is_paid_or_successful(settlement: Settlement) -> bool:
    """Return whether the consumer pays: the outcome is a success, or any revision costs more than 0."""
    return settlement.success or any(each.cost.total > 0 for each in settlement.revisions)


def render_settlement(settlement: Settlement, reader: Principal) -> dict[str, Any]:
    """Return the fields of a settlement that the reader may see, with thresholds that are stored apart."""
    disclosure = Disclosure(level=settlement.disclosure, output=is_paid_or_successful(settlement))
    return project(restore_settlement_thresholds(settlement), reader.role, disclosure)


def may_read_account(principal: Principal, account: str) -> bool:
    """Return whether the name is a valid account and the principal is finance or its owner."""
    own = f"{principal.role.value}:{principal.id}"
    return is_account_name(account) and (principal.role is Audience.FINANCE or account == own)
