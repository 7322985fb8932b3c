"""A load: contracts of several kinds, driven side by side by careful clients, and what became of them."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum

import pytest

from tests.e2e.jobs import GOOD, POOR, contract, deliver, eventually, until_settled, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Parties, PatientCaller, fresh, parties_of
from tests.e2e.stores import transactions_by_contract


class Kind(StrEnum):
    """Expected end of a contract of the load; the last two are errors."""

    SETTLED = "settled"
    """A pass, now and then after a rejection."""
    HELD = "held"
    """The agent is of the consumer's own organisation."""
    OPEN = "open"
    """The agent delivers nothing."""
    LOST = "lost"
    """The contract is missing, or not at its end, or the services disagree about it."""
    TWICE = "twice"
    """Several transactions."""


@dataclass
class Load:
    """Contracts that were accepted, by kind, and the candidates that were posted for each."""

    live: Live
    accepted: dict[str, Kind] = field(default_factory=dict)
    candidates: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        org = fresh("org")
        self.parties = parties_of(self.live, kind=PatientCaller)
        self.colleagues = parties_of(self.live, org, org, kind=PatientCaller)

    def start(self, pool: ThreadPoolExecutor, count: int) -> list[Future[None]]:
        """Begin so many contracts: one in ten is to be held, one in ten stays open."""
        return [pool.submit(self._drive, index) for index in range(count)]

    def until_accepted(self, count: int) -> None:
        """Wait until so many contracts exist."""
        eventually(lambda: True if len(self.accepted) >= count else None, what=f"{count} contracts")

    def settled(self) -> list[str]:
        """The contracts that are to be settled."""
        return [contract_id for contract_id, kind in self.accepted.items() if kind is Kind.SETTLED]

    def until_at_rest(self) -> None:
        """Wait until every contract is where it is meant to be. None may pass over to another kind meanwhile."""
        for contract_id, kind in self.accepted.items():
            if kind is Kind.SETTLED:
                until_settled(self.parties.finance, contract_id)
            else:
                until_status(self.parties.operator, contract_id, "held" if kind is Kind.HELD else "awarded")

    def found(self) -> Counter[Kind]:
        """Return the result of the load."""
        return Counter(self.ends().values())

    def ends(self) -> dict[str, Kind]:
        """Return the end of each contract, from the services and the ledger."""
        posted = transactions_by_contract(self.live)
        return {each: self._end(each, len(posted.get(each, ()))) for each in self.accepted}

    def _end(self, contract_id: str, posted: int) -> Kind:
        if posted > 1:
            return Kind.TWICE
        seen = self.parties.operator.get("verification", f"/v1/contracts/{contract_id}")
        kind = _ENDS.get(seen.json()["status"], Kind.LOST) if seen.is_success else Kind.LOST
        settled = self.parties.finance.get("settlement", f"/v1/settlements/{contract_id}").is_success
        return kind if settled == (posted == 1) == (kind is Kind.SETTLED) else Kind.LOST

    def _drive(self, index: int) -> None:
        kind = {8: Kind.HELD, 9: Kind.OPEN}.get(index % 10, Kind.SETTLED)
        parties: Parties = self.colleagues if kind is Kind.HELD else self.parties
        contract_id = contract(parties)
        self.accepted[contract_id] = kind
        if kind is Kind.OPEN:
            return
        if index % 4 == 0:
            deliver(parties, contract_id, POOR)
            until_status(parties.agent, contract_id, "awaiting_revision")
            self.candidates[contract_id] += 1
        deliver(parties, contract_id, f"{GOOD} {index}", wait_s=0)
        self.candidates[contract_id] += 1


_ENDS = {"passed": Kind.SETTLED, "held": Kind.HELD, "awarded": Kind.OPEN}
"""By the contract's status."""


def table(rows: Sequence[tuple[str, Counter[Kind]]], title: str = "killed") -> str:
    """Accepted = settled + held + open, with none lost and none twice; a row for each load."""
    width = max(len(name) for name in (title, *(name for name, _ in rows))) + 2
    lines = [f"{title:<{width}}{'accepted':>9}" + "".join(f"{kind:>9}" for kind in Kind)]
    for name, counts in rows:
        lines.append(f"{name:<{width}}{counts.total():>9}" + "".join(f"{counts[kind]:>9}" for kind in Kind))
    return "\n".join(lines)


def say(reported: pytest.CaptureFixture[str], text: str) -> None:
    """Print figures for people, whatever pytest keeps back."""
    with reported.disabled():
        print(f"\n{text}")  # noqa: T201 read by people
