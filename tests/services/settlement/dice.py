"""Random settlements: terms and results in which each rule of the cost is met often, and each limit too."""

import random
from datetime import datetime, timedelta
from decimal import Decimal

from aex_models.contract import Terms
from aex_models.governance import Action, GovernanceResult
from aex_models.money import from_micros
from aex_models.results import Verdict, VerificationResult
from aex_models.work import BasePolicy
from tests.libs.models.results import a_result
from tests.services.settlement.outcomes import NOON

CURRENCIES = ("USD", "EUR", "JPY")
_GOVERNANCE = {action: GovernanceResult(action=action) for action in Action}
_LARGEST = 10**15
"""Micros: the largest single amount."""


class Dice:
    """The same throws for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def amount(self) -> Decimal:
        """Nothing, one micro, small, ordinary, of any magnitude, or the largest."""
        chance = self._chance
        match chance.randrange(8):
            case 0:
                return from_micros(0)
            case 1:
                return from_micros(1)
            case 2:
                return from_micros(chance.randrange(100))
            case 3:
                return from_micros(_LARGEST - chance.randrange(2))
            case 4 | 5:
                return from_micros(chance.randrange(5_000_000))
            case _:
                return from_micros(chance.randrange(10 ** chance.randrange(1, 16)))

    def cap(self) -> Decimal | None:
        """Absent, zero, or some amount."""
        return self._chance.choice([None, Decimal(0), self.amount()])

    def terms(self) -> Terms:
        """What was agreed."""
        chance = self._chance
        return Terms(
            cpc_rate=self.amount(),
            max_cpa_total=self.cap(),
            max_penalty_total=self.cap(),
            base_policy=chance.choice(list(BasePolicy)),
            currency=chance.choice(CURRENCIES),
            fee_rate=from_micros(chance.choice([0, 1, 500_000, 10**6, chance.randrange(10**6 + 1)])),
        )

    def result(self) -> VerificationResult:
        """What was verified."""
        chance = self._chance
        success = chance.random() < 0.5
        return a_result(
            verdict=chance.choice(list(Verdict)),
            success=success,
            bonus=self.amount(),
            penalty=self.amount(),
            governance=_GOVERNANCE[chance.choice(list(Action))],
        )

    def who(self) -> tuple[str, ...]:
        """Agent, consumer, domain; an agent may be its own consumer."""
        chance = self._chance
        return (
            chance.choice(["bot", "crew/two", "acme"]),
            chance.choice(["acme", "globex"]),
            chance.choice(["news", ""]),
        )

    def later(self) -> datetime:
        """An instant of a hundred days."""
        return NOON + timedelta(seconds=self._chance.randrange(100 * 86_400))

    def taken_back(self) -> bool:
        """Whether finance reverses it."""
        return self._chance.random() < 0.1
