"""Random settlements, equal for equal seeds."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from aex_models.contract import ContractStatus
from aex_models.money import from_micros
from aex_models.results import Verdict
from aex_models.settlement import Breakdown, Cost, Settlement, SettlementRevision, SettlementStatus

SEED = 6
AGENTS = tuple(f"agent-{number:02}" for number in range(12))
CONSUMERS = tuple(f"consumer-{number}" for number in range(6))
DOMAINS = ("general", "news", "law", "science/physics")
FIRST_DAY = datetime(2025, 1, 15, tzinfo=UTC)
DAYS = 61
"""Parts of three months."""
_DAY_US = 86_400_000_000


def numbers_of_day(day: int, settlements: int) -> range:
    """Return the numbers of one day's settlements, which are spread evenly over `DAYS` days."""
    return range(settlements * day // DAYS, settlements * (day + 1) // DAYS)


def draw_settlements(day: int, settlements: int) -> Iterator[Settlement]:
    """Draw the settlements of a UTC day in order of time."""
    numbers, source = numbers_of_day(day, settlements), random.Random(f"{SEED} {day}")
    moments = sorted(source.randrange(_DAY_US) for _ in numbers)
    for number, moment in zip(numbers, moments, strict=True):
        yield _draw_settlement(source, contract_id(number), FIRST_DAY + timedelta(days=day, microseconds=moment))


def contract_id(number: int) -> str:
    return f"ctr_{number:012}"


def _draw_settlement(source: random.Random, name: str, at: datetime) -> Settlement:
    is_passed = source.random() < 0.8
    base, bonus = source.randrange(1_000_000), source.randrange(1_000_000) if is_passed else 0
    penalty = min(source.randrange(500_000), base + bonus) if source.random() < 0.3 else 0
    amounts = [from_micros(micros) for micros in (base, bonus, penalty)]
    total = base + bonus - penalty
    cost = Cost(
        contract_id=name,
        currency="USD",
        base=amounts[0],
        bonus=amounts[1],
        penalty=amounts[2],
        bonus_capped=Decimal(0),
        penalty_waived=Decimal(0),
        fee=from_micros(total // 20),
        total=from_micros(total),
        breakdown=Breakdown(cpc=amounts[0], cpa_bonus=amounts[1], cpa_penalty=amounts[2]),
    )
    return Settlement(
        contract_id=name,
        work_id=name.replace("ctr", "work"),
        agent_id=source.choice(AGENTS),
        consumer_id=source.choice(CONSUMERS),
        domain=source.choice(DOMAINS),
        success=is_passed,
        final_status=ContractStatus.PASSED if is_passed else ContractStatus.EXHAUSTED,
        verdict=Verdict.PASSED if is_passed else Verdict.REJECTED,
        status=SettlementStatus.SETTLED,
        revision=1,
        revisions=(SettlementRevision(revision=1, cost=cost, settled_at=at),),
        cost=cost,
        fee_rate=Decimal("0.05"),
        settled_at=at,
    )
