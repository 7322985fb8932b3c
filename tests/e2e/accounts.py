"""The books after a load: whatever was accepted is there, and nothing was done twice."""

from collections import Counter
from decimal import Decimal

from aex_runtime.service import Backends
from aex_runtime.unit_of_work import UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.handlers.audit_ledger import Audited, audit_ledger
from aex_settlement.rules.projected import Projection
from tests.e2e.live import Live
from tests.e2e.load import Load
from tests.e2e.stores import transactions_by_contract, until_in_the_books, with_backends

COST = Decimal("0.85")
"""Of a settled contract, whether or not a candidate of it was rejected."""


def check_books(load: Load) -> None:
    """Accepted = settled + held + open, one transaction for each settled contract, and balances that say the same."""
    assert load.found() == Counter(load.accepted.values())
    posted = transactions_by_contract(load.live)
    assert {contract_id: len(posted[contract_id]) for contract_id in load.accepted if contract_id in posted} == (
        dict.fromkeys(load.settled(), 1)
    )
    check_ledger(load.live)
    accounts = load.parties.finance.read("settlement", "/v1/trial-balance")["accounts"]
    assert sum(Decimal(each["balance"]) for each in accounts) == 0
    balances = load.parties.finance.read("settlement", f"/v1/accounts/agent:{load.parties.agent.id}")["balances"]
    assert [Decimal(each["balance"]) for each in balances] == [-COST * len(load.settled())]


def check_ledger(live: Live) -> None:
    """The sealed journal holds all that was booked, and each projection is what a recount of it comes to."""
    until_in_the_books(live)

    async def audit(backends: Backends) -> Audited:
        store, clock = backends.store, backends.clock
        deps = Deps(UnitOfWork("settlement", store, clock, lambda _: None), store, clock, backends.ids, lambda: None)
        return await audit_ledger(deps, (), lambda *_: None)

    audited = with_backends(live, "settlement", audit)
    assert audited.findings.shown == []
    assert (audited.waiting, len(audited.projections)) == (0, len(Projection))


def check_attempts(load: Load, *, untroubled: bool = False) -> None:
    """Each candidate is one attempt, counted once; and no two processes have judged it.

    That it was judged may be missing in the logs, unless the suite was `untroubled`: a process was killed after it had
    written the verdict, or the store's answer to that was lost.
    """
    judged = Counter(
        line["attempt_id"] for line in load.live.log("verification") if line["event"] == "candidate_judged"
    )
    attempts: list[str] = []
    for contract_id, kind in load.accepted.items():
        seen = load.parties.operator.read("verification", f"/v1/contracts/{contract_id}")
        assert seen["attempts_used"] == load.candidates[contract_id], f"{contract_id}, meant to be {kind}: {seen}"
        found = load.parties.operator.read("verification", f"/v1/contracts/{contract_id}/attempts")["items"]
        assert len(found) == load.candidates[contract_id], f"{contract_id} has the attempts {found}"
        attempts += [each["attempt_id"] for each in found]
    assert [attempt_id for attempt_id in attempts if judged[attempt_id] > 1] == []
    assert not untroubled or all(judged[attempt_id] for attempt_id in attempts)
