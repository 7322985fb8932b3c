"""The books after a load: whatever was accepted is there, and nothing was done twice."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

from aex_settlement.rules.projections import Projection
from tests.e2e.counts import object_counts
from tests.e2e.live import Live, clean_environment
from tests.e2e.load import Load
from tests.e2e.parties import TIMEOUT_S
from tests.e2e.stores import until_in_the_books

COST = Decimal("0.85")
"""Total of a settled contract, with or without a rejected candidate."""


def check_books(*loads: Load) -> None:
    """Check that accepted = settled + held + open, with one transaction for each settled contract.

    The balances agree with it. The loads are of one suite.
    """
    for load in loads:
        assert load.ends() == load.accepted
    live, finance = loads[0].live, loads[0].parties.finance
    check_ledger(live)
    accounts = finance.read("settlement", "/v1/trial-balance")["accounts"]
    assert sum(Decimal(each["balance"]) for each in accounts) == 0
    for load in loads:
        balances = finance.read("settlement", f"/v1/accounts/agent:{load.parties.agent.id}")["balances"]
        assert [Decimal(each["balance"]) for each in balances] == [-COST * len(load.settled())]


def check_ledger(live: Live) -> None:
    """The sealed journal holds all that was booked, and each projection is what a recount of it comes to."""
    until_in_the_books(live)
    command = [sys.executable, "-m", "aex_cli", "ledger", "verify", "--data-dir", str(live.data_dir), "--json"]
    environment = clean_environment(live.backend.environment)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    audited = json.loads(done.stdout)
    assert audited["ok"] is True
    assert (audited["waiting"], len(audited["projections"])) == (0, len(Projection))


def check_attempts(load: Load, *, untroubled: bool = False) -> None:
    """Check that each candidate is one attempt, counted once and judged by one process.

    Logs may lack the judgement unless the suite was `untroubled`: a process may be killed after writing the verdict.
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


def check_records(*loads: Load, before: Mapping[str, int] | None = None) -> None:
    """Assert that the suite has the records of these loads, and none more than it had `before`.

    An award or an attempt whose answer was lost, so that no client knows of it, is found.
    """
    counts = Counter(object_counts(loads[0].live))
    counts.subtract(before or {})
    settled = sum(len(load.settled()) for load in loads)
    assert counts["verification-outcomes"] == counts["settlement-settlements"] == settled
    assert counts["settlement-transactions"] == settled
    assert counts["verification-attempts"] == sum(load.candidates.total() for load in loads)
    assert counts["work-publisher-awards"] == sum(len(load.accepted) for load in loads)
