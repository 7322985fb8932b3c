"""The same audit on Firestore: what was done to the documents is found there as well."""

from collections.abc import AsyncIterator

import pytest

from aex_runtime.store.firestore import FirestoreStore
from tests.emulators.emulators import Emulators
from tests.services.settlement.audit.ledgers import BATCHES, TRANSACTIONS, audit, build, deposit, found
from tests.services.settlement.audit.test_projections import CASES as PROJECTED
from tests.services.settlement.audit.test_tampered_ledgers import CASES
from tests.services.settlement.desk import Desk, desk_over
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
async def desk(emulators: Emulators, project: str) -> AsyncIterator[Desk]:
    store = FirestoreStore(project, emulator=emulators.firestore.host)
    try:
        yield desk_over(store, NOON)
    finally:
        await store.close()


async def test_a_sound_ledger_has_no_findings(desk: Desk) -> None:
    await build(desk)
    await deposit(desk)
    audited = await audit(desk)
    assert audited.findings.shown == []
    assert (audited.batches, audited.transactions, audited.waiting) == (BATCHES, TRANSACTIONS, 1)
    assert audited.projections == {"accounts": BATCHES, "rollups": BATCHES}


@pytest.mark.parametrize("case", MAIN)
async def test_what_was_done_is_found_and_named(desk: Desk, case: str) -> None:
    tamper, expected = CASES[case]
    await build(desk)
    await tamper(desk.deps.store)
    assert expected <= found(await audit(desk))


@pytest.mark.parametrize("case", ["rollup edited", "balance removed", "sheet's line edited"])
async def test_what_differs_from_the_journal_is_named(desk: Desk, case: str) -> None:
    tamper, name = PROJECTED[case]
    await build(desk)
    await tamper(desk.deps.store)
    assert ("projection_differs", name) in found(await audit(desk))
