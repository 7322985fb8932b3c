"""`deploy/firestore.indexes.json` covers every query; the emulator also answers without an index."""

import json
from types import ModuleType

import pytest

from aex_governance import repository as governance
from aex_runtime.store.firestore_indexes import IndexFile
from aex_runtime.store.port import Collection, Query
from aex_runtime.store.table import Table
from aex_settlement import repository as settlement
from aex_verification import repository as verification
from aex_work_publisher import repository as work_publisher
from deploy.write_indexes import FILE, build_file_text, list_collections
from tests.parts.query_shapes import Shape, get_shape, has_index_for
from tests.parts.recording import RecordingStore
from tests.simulation.world import World

COMMITTED: IndexFile = json.loads(FILE.read_text())


def test_committed_file_equals_the_declarations() -> None:
    assert FILE.read_text() == build_file_text(), "the indexes have changed: make indexes"


def test_every_declared_index_is_in_the_file() -> None:
    for collection in list_collections():
        for index in collection.indexes:
            query = Query(collection, dict.fromkeys(index.equal), index.order, index.direction)
            assert has_index_for(COMMITTED, get_shape(query)), (collection.name, index)


def test_collection_names_are_distinct() -> None:
    names = [collection.name for collection in list_collections()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("repository", [governance, settlement, verification, work_publisher])
def test_repository_lists_all_its_collections(repository: ModuleType) -> None:
    tables = {each.collection for each in vars(repository).values() if isinstance(each, Table)}
    loose = {each for each in vars(repository).values() if isinstance(each, Collection)}
    assert set(repository.COLLECTIONS) == tables | loose


def test_file_is_within_the_limits_of_a_database() -> None:
    assert len(COMMITTED["fieldOverrides"]) <= 200
    assert len(COMMITTED["indexes"]) <= 200


async def test_queries_of_the_simulated_suite_are_covered() -> None:
    shapes: set[Shape] = set()
    for seed in range(6):
        await World(seed, watched=lambda store: RecordingStore(store, shapes)).run(150)
    assert len(shapes) > 8
    assert [shape for shape in shapes if not has_index_for(COMMITTED, shape)] == []
