"""Firestore answers no query that `deploy/firestore.indexes.json` has no index for; its emulator answers all."""

import json
from types import ModuleType

import pytest

from aex_governance import repository as governance
from aex_runtime.store.firestore_indexes import IndexFile, Shape, covers, shape_of
from aex_runtime.store.port import Collection, Query
from aex_runtime.store.table import Table
from aex_settlement import repository as settlement
from aex_verification import repository as verification
from aex_work_publisher import repository as work_publisher
from deploy.write_indexes import FILE, content, declared
from tests.parts.recording import RecordingStore
from tests.simulation.world import World


@pytest.fixture(scope="module")
def committed() -> IndexFile:
    file: IndexFile = json.loads(FILE.read_text())
    return file


def test_the_committed_file_is_what_the_code_declares() -> None:
    assert FILE.read_text() == content(), "the indexes have changed: make indexes"


def test_every_declared_index_is_in_the_file(committed: IndexFile) -> None:
    for collection in declared():
        for index in collection.indexes:
            query = Query(collection, dict.fromkeys(index.equal), index.order, index.direction)
            assert covers(committed, shape_of(query)), (collection.name, index)


def test_collections_have_names_of_their_own() -> None:
    names = [collection.name for collection in declared()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("repository", [governance, settlement, verification, work_publisher])
def test_a_repository_forgets_none_of_its_collections(repository: ModuleType) -> None:
    tables = {each.collection for each in vars(repository).values() if isinstance(each, Table)}
    loose = {each for each in vars(repository).values() if isinstance(each, Collection)}
    assert set(repository.COLLECTIONS) == tables | loose


def test_the_file_is_within_the_limits_of_a_database(committed: IndexFile) -> None:
    assert len(committed["fieldOverrides"]) <= 200
    assert len(committed["indexes"]) <= 200


async def test_what_the_simulated_suite_asks_for_is_covered(committed: IndexFile) -> None:
    shapes: set[Shape] = set()
    for seed in range(6):
        await World(seed, watched=lambda store: RecordingStore(store, shapes)).run(150)
    assert len(shapes) > 8
    assert [shape for shape in shapes if not covers(committed, shape)] == []
