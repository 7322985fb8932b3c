"""Settlements drawn at random: who, when and how much, the same for the same seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from aex_models.contract import ContractStatus, Terms
from aex_models.cost import cost
from aex_models.governance import Action, GovernanceResult
from aex_models.money import from_micros
from aex_models.results import CriterionResult, Verdict, VerificationResult
from aex_models.settlement import Settlement, SettlementRevision, SettlementStatus
from aex_models.thresholds import ComparisonOperator, MetricType

AGENTS = tuple(f"agent-{number:02}" for number in range(12))
CONSUMERS = tuple(f"consumer-{number}" for number in range(6))
DOMAINS = ("general", "news", "law", "science/physics")
FIRST_DAY = datetime(2025, 1, 15, tzinfo=UTC)
DAYS = 61
"""Parts of three months."""
_DAY_US = 86_400_000_000
_ALLOWED = GovernanceResult(action=Action.ALLOW)


@dataclass(frozen=True, slots=True)
class Share:
    """One writer's share of one UTC day: the settlements `first`, `first` + `step`, … below `end`."""

    day: int
    first: int
    end: int
    step: int

    @property
    def begin(self) -> datetime:
        """The day's first moment."""
        return FIRST_DAY + timedelta(days=self.day)

    def __len__(self) -> int:
        return len(range(self.first, self.end, self.step))


def shares(settlements: int, writers: int) -> Iterator[tuple[Share, ...]]:
    """For each day the writers' shares: all settlements over `DAYS` days, as evenly as the numbers allow."""
    for day in range(DAYS):
        first, end = settlements * day // DAYS, settlements * (day + 1) // DAYS
        yield tuple(Share(day, first + writer, end, writers) for writer in range(writers))


def drawn(share: Share, seed: int) -> Iterator[Settlement]:
    """The settlements of a share, in the order of time."""
    chance = random.Random(f"{seed} {share.day} {share.first}")
    moments = sorted(chance.randrange(_DAY_US) for _ in range(len(share)))
    for number, moment in zip(range(share.first, share.end, share.step), moments, strict=True):
        yield _drawn(chance, number, share.begin + timedelta(microseconds=moment))


def contract_id(number: int) -> str:
    """Of the settlement with this number."""
    return f"ctr_{number:012}"


def _drawn(chance: random.Random, number: int, at: datetime) -> Settlement:
    name = contract_id(number)
    agreed = Terms(
        cpc_rate=from_micros(chance.randrange(1_000_000)),
        max_cpa_total=Decimal(1),
        max_penalty_total=Decimal("0.50"),
        fee_rate=Decimal("0.05"),
    )
    result = _result(chance, name, at)
    amounts = cost(agreed, result)
    return Settlement(
        contract_id=name,
        work_id=f"work_{number:012}",
        agent_id=chance.choice(AGENTS),
        consumer_id=chance.choice(CONSUMERS),
        domain=chance.choice(DOMAINS),
        success=result.success,
        final_status=ContractStatus.PASSED if result.success else ContractStatus.EXHAUSTED,
        verdict=result.verdict,
        status=SettlementStatus.SETTLED,
        revision=1,
        revisions=(SettlementRevision(revision=1, cost=amounts, settled_at=at),),
        cost=amounts,
        fee_rate=agreed.fee_rate,
        settled_at=at,
    )


def _result(chance: random.Random, contract: str, at: datetime) -> VerificationResult:
    """Two criteria: a bonus for the one where it is met, a penalty for the other where it is not."""
    first, second = chance.random() < 0.8, chance.random() < 0.7
    criteria = (
        _criterion("rougeL", first, bonus=chance.randrange(1_500_000)),
        _criterion("word_count", second, penalty=chance.randrange(800_000)),
    )
    return VerificationResult(
        verification_id=f"ver_{contract}",
        contract_id=contract,
        verdict=Verdict.PASSED if first else Verdict.REJECTED,
        success=first,
        criterion_results=criteria,
        weighted_score=1.0,
        bonus=criteria[0].bonus if first else Decimal(0),
        penalty=Decimal(0) if second else criteria[1].penalty,
        governance=_ALLOWED,
        engine_version="1",
        verified_at=at,
    )


def _criterion(metric: str, met: bool, bonus: int = 0, penalty: int = 0) -> CriterionResult:
    return CriterionResult(
        metric=metric,
        metric_type=MetricType.ROUGE_SCORE,
        value=0.5,
        threshold=0.4,
        comparison=ComparisonOperator.GTE,
        met=met,
        required=True,
        weight=1.0,
        bonus=from_micros(bonus),
        penalty=from_micros(penalty),
    )
