"""Balances as sums of postings: integers, whose order does not matter."""

from dataclasses import dataclass, field

from aex_models.money import from_micros
from aex_models.settlement import AccountBalance, AccountEntry, Posting


@dataclass(slots=True)
class BalanceFold:
    """Gathers postings one at a time into a balance for each account and currency."""

    _micros: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, posting: Posting | AccountEntry) -> None:
        """Add one posting to its account's balance in its currency."""
        key = (posting.account, posting.currency)
        self._micros[key] = self._micros.get(key, 0) + posting.amount

    def balances(self) -> tuple[AccountBalance, ...]:
        """Every account that was posted in, by name and currency; debits less credits."""
        return tuple(
            AccountBalance(account=account, currency=currency, balance=from_micros(micros))
            for (account, currency), micros in sorted(self._micros.items())
        )
