from datetime import UTC, datetime, timedelta

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore import AsyncClient

from aex_runtime.clock import SetClock
from aex_runtime.http.idempotency import RETENTION, IdempotentRequest, idempotency_table, save_idempotency_key
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.emulators.emulators import Emulators, new_project
from tests.store.contract import Opened, Sizes, StoreContract

pytestmark = pytest.mark.emulator


class TestFirestoreStore(StoreContract, Sizes):
    @pytest.fixture
    def opened(self, emulators: Emulators) -> Opened:
        project = new_project()
        return lambda retry: FirestoreStore(project, emulator=emulators.firestore.host, retry=retry)


async def test_expiring_document_has_a_top_level_time(emulators: Emulators, monkeypatch: pytest.MonkeyPatch) -> None:
    project, now = new_project(), datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    store = FirestoreStore(project, emulator=emulators.firestore.host)
    request = IdempotentRequest("acme", "key", "digest")

    async def effect(unit: Unit) -> None:
        save_idempotency_key(unit, "settlement", request, "made")

    try:
        await UnitOfWork("settlement", store, SetClock(now), lambda _: None).run(effect)
        found = await idempotency_table("settlement").get(store, request.record_key)
    finally:
        await store.close()
    assert found is not None
    assert found.record.expires_at == now + RETENTION
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulators.firestore.host)
    client = AsyncClient(project=project, credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
    (document,) = [each async for each in client.collection("settlement-idempotency").stream()]
    assert set(document.to_dict() or {}) == {"record", "expires"}
    assert abs(document.get("expires") - (now + timedelta(days=33))) < timedelta(milliseconds=1)
