"""The same audit on Firestore: what was done to the documents is found there as well."""

from collections.abc import AsyncIterator

import pytest

from aex_runtime.store.firestore import FirestoreStore
from tests.emulators.emulators import Emulators
from tests.services.settlement.audit.ledgers import BATCHES, TRANSACTIONS, audit, build, deposit, found
from tests.services.settlement.audit.test_projections import CASES as PROJECTED
from tests.services.settlement.audit.test_tampered_ledgers import CASES
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON

pytestmark = pytest.mark.emulator
MAIN = (
    "amount",
    "amount, digest and hash",
    "index fields",
    "transaction removed",
    "transaction added",
    "settlement that waits",
    "tail cut",
    "transactions swapped",
    "settlement",
    "settlement hidden",
)


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


@pytest.mark.parametrize("case", MAIN)
async def test_tampering_is_found_and_named(ledger: LedgerKit, case: str) -> None:
    tamper, expected = CASES[case]
    await build(ledger)
    await tamper(ledger.deps.store)
    assert expected <= found(await audit(ledger))


@pytest.mark.parametrize("case", ["rollup edited", "balance removed", "sheet's line edited"])
async def test_what_differs_from_the_journal_is_named(ledger: LedgerKit, case: str) -> None:
    tamper, name = PROJECTED[case]
    await build(ledger)
    await tamper(ledger.deps.store)
    assert ("projection_differs", name) in found(await audit(ledger))
