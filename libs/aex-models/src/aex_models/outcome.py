"""The immutable record of a contract's outcome."""

from typing import Any

from aex_models.contract import ContractStatus, Terms
from aex_models.criteria import SuccessCriteria
from aex_models.frozen import Frozen, Instant
from aex_models.money import Money, TotalMoney
from aex_models.results import VerificationResult
from aex_models.work import FeedbackLevel


class BillingImpact(Frozen):
    """An outcome's amounts after the caps of its terms and the floor of 0."""

    base: Money
    bonus: Money
    penalty: Money
    total: TotalMoney


class OutcomeRecord(Frozen):
    """The record of a contract's outcome: final status, result, terms and cost. It is written once."""

    id: str
    contract_id: str
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    final_status: ContractStatus
    success_criteria: SuccessCriteria | None = None
    verification_result: VerificationResult | None = None
    """The verification result; None if nothing was graded."""
    final_result: Any = None
    """Result of the named verifier; if the work names no verifier, the output that passed."""
    attempts_used: int
    execution_metadata: dict[str, Any] = {}
    terms: Terms
    billing_impact: BillingImpact
    disclosure: FeedbackLevel = FeedbackLevel.CRITERIA
    """Feedback level of the work: the part of the result that the agent may see."""
    stored: bool = True
    """False where `verification.store_outcomes` is off: no result, final result or execution metadata is stored."""
    paid_by_correction: bool = False
    """True once a correction of the settlement costs something. Then the consumer may read the output."""
    created_at: Instant
