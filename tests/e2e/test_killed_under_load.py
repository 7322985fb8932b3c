"""SIGKILL of each service in turn under a small load: after the restart all that was accepted is settled once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.live import Live, live_suite
from tests.e2e.load import Kind, Load, table
from tests.e2e.stores import transactions_of, until_published

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
CONTRACTS = 20
KILLED_AFTER = 6
"""Contracts accepted: by then all services are at work on some of them."""
WORKERS = "workers"
"""Verification's confined workers, all of them; the service itself goes on."""


def kill(live: Live, victim: str) -> None:
    doomed = live.process("verification").children() if victim == WORKERS else [live.process(victim)]
    for process in doomed:
        process.kill()


def test_all_that_was_accepted_is_settled_once_after_each_service_was_killed_in_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loads: dict[str, Load] = {}
    with live_suite(tmp_path / ".aex") as live, ThreadPoolExecutor(10) as pool:
        for victim in (*MODULES, WORKERS):
            load = loads[victim] = Load(live)
            work = load.start(pool, CONTRACTS)
            load.until_accepted(KILLED_AFTER)
            kill(live, victim)
            for each in work:
                each.result()
            if victim in MODULES:
                live.running.told(f"{victim} is ready again")
        for load in loads.values():
            load.until_at_rest()
        until_published(live)

        found = [(victim, _found(load)) for victim, load in loads.items()]
        with capsys.disabled():
            print(f"\n{table(found)}")  # noqa: T201 the table is what the test is read for
        for victim, load in loads.items():
            assert _found(load) == Counter(load.accepted.values()), victim
            assert len(load.accepted) == CONTRACTS
            for contract_id in load.accepted:
                assert len(transactions_of(live, contract_id)) == (contract_id in load.settled())
        _check_money(loads["settlement"])
        assert live.breakdowns() == []


def _found(load: Load) -> Counter[Kind]:
    """What became of the load: settled, held, or open, as the services themselves say."""
    counts: Counter[Kind] = Counter()
    for contract_id in load.accepted:
        status = load.parties.operator.read("verification", f"/v1/contracts/{contract_id}")["status"]
        settled = load.parties.finance.get("settlement", f"/v1/settlements/{contract_id}").is_success
        kind = {"passed": Kind.SETTLED, "held": Kind.HELD, "awarded": Kind.OPEN}[status]
        assert settled == (kind is Kind.SETTLED)
        counts[kind] += 1
    return counts


def _check_money(load: Load) -> None:
    accounts = load.parties.finance.read("settlement", "/v1/trial-balance")["accounts"]
    assert sum(Decimal(each["balance"]) for each in accounts) == 0
    balances = load.parties.finance.read("settlement", f"/v1/accounts/agent:{load.parties.agent.id}")["balances"]
    assert [Decimal(each["balance"]) for each in balances] == [Decimal("-0.85") * len(load.settled())]
