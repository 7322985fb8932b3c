"""settlement is killed after each commit of its sealer, under load: the journal is whole, and all is counted once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aex_settlement.main import SERVICE
from tests.e2e.accounts import check_books
from tests.e2e.backend import Backend
from tests.e2e.counts import until_published
from tests.e2e.dying import settlement
from tests.e2e.dying.deaths import Deaths, Moment
from tests.e2e.dying.sealing import Sealing
from tests.e2e.jobs import eventually
from tests.e2e.live import live_suite
from tests.e2e.load import Load

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]
CONTRACTS = 12
"""Of which ten are settled; where a death leaves the next commit undone, the next process dies over that."""


def test_the_journal_is_whole_and_counts_all_once_though_settlement_was_killed_after_each_commit_of_its_sealer(
    tmp_path: Path, backend: Backend
) -> None:
    ordered = Deaths(tmp_path / "deaths")
    for step in Sealing:
        ordered.order(step, Moment.AFTER)  # of what is committed by then, nobody has heard
    environment = Deaths.ordered_in(tmp_path / "deaths")
    with (
        live_suite(
            tmp_path / ".aex", backend, environment=environment, replaced={SERVICE: settlement.__name__}
        ) as live,
        ThreadPoolExecutor(CONTRACTS) as pool,
    ):
        load = Load(live)
        for each in load.start(pool, CONTRACTS):
            each.result()
        load.until_at_rest()
        for step in Sealing:
            until_died(ordered, step)
        until_published(live)
        assert sum("settlement died (SIGKILL)" in line for line in live.running.err) == len(Sealing)
        check_books(load)
        assert live.breakdowns() == []


def until_died(ordered: Deaths, step: Sealing) -> None:
    """Wait until it has happened."""
    eventually(lambda: ordered.happened(step, Moment.AFTER) or None, what=f"the death after {step}")
