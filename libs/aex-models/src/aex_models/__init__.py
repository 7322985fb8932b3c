"""The common models of AEX Outcomes: money, criteria, work, contracts, outcomes, settlement, events."""

from aex_models.contract import Attempt, Award, Contract, Terms
from aex_models.cost import cost
from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.governance import Flag
from aex_models.outcome import OutcomeRecord
from aex_models.results import CriterionResult, VerificationResult
from aex_models.rollout import RolloutResponse
from aex_models.science import ScientificReview
from aex_models.settlement import Cost, LedgerTransaction, Posting
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_models.work import Work, WorkSubmission

__all__ = [
    "Attempt",
    "Award",
    "ComparisonOperator",
    "Contract",
    "Cost",
    "CriterionResult",
    "Flag",
    "LedgerTransaction",
    "MetricType",
    "OutcomeRecord",
    "Posting",
    "RolloutResponse",
    "ScientificReview",
    "SuccessCriteria",
    "SuccessCriterion",
    "Terms",
    "VerificationResult",
    "Work",
    "WorkSubmission",
    "cost",
]
