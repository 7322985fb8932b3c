"""The same audit on Firestore: what was done to the documents is found there as well."""

from collections.abc import AsyncIterator

import pytest

from aex_runtime.store.firestore import FirestoreStore
from tests.emulators.emulators import Emulators
from tests.services.settlement.audit.ledgers import BATCHES, TRANSACTIONS, audit, build, deposit, found
from tests.services.settlement.audit.test_projections import CASES as PROJECTED
from tests.services.settlement.audit.test_tampered_ledgers import CASES, Found
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON

pytestmark = pytest.mark.emulator
TAMPERED = [
    ("index fields", "transaction added", "settlement that waits", "settlement removed"),
    ("what waits removed", "settlement hidden"),
]
"""Cases that depend on the store's deletions, indexes and scans; those of a group do not hide each other."""


@pytest.fixture
async def ledger(emulators: Emulators, project: str) -> AsyncIterator[LedgerKit]:
    store = FirestoreStore(project, emulator=emulators.firestore.host)
    try:
        yield ledger_kit_over(store, NOON)
    finally:
        await store.close()


async def test_a_sound_ledger_has_no_findings(ledger: LedgerKit) -> None:
    await build(ledger)
    await deposit(ledger)
    report = await audit(ledger)
    assert report.findings.listed == []
    assert (report.batches, report.transactions, report.waiting) == (BATCHES, TRANSACTIONS, 1)
    assert report.projections == {"accounts": BATCHES, "rollups": BATCHES}


@pytest.mark.parametrize("cases", TAMPERED, ids=["changed", "hidden"])
async def test_tampering_is_found_and_named(ledger: LedgerKit, cases: tuple[str, ...]) -> None:
    await build(ledger)
    for case in cases:
        await CASES[case][0](ledger.deps.store)
    assert set[Found]().union(*(CASES[case][1] for case in cases)) <= found(await audit(ledger))


async def test_what_differs_from_the_journal_is_named(ledger: LedgerKit) -> None:
    await build(ledger)
    expected = set()
    for tamper, name in (PROJECTED[case] for case in ("rollup edited", "balance removed", "sheet's line edited")):
        await tamper(ledger.deps.store)
        expected.add(("projection_differs", name))
    assert expected <= found(await audit(ledger))
