from contextlib import closing
from pathlib import Path

import pytest

from aex_runtime.sqlite_file import StoreFile
from aex_runtime.store.port import Bound, Collection, Direction, Index, Query
from aex_runtime.store.sqlite_queries import build_statements, create_indexes_sql

WORKS = Collection(
    "plan-works",
    (
        Index(),
        Index(order="due"),
        Index(equal=("state", "owner"), order="due", direction="desc"),
        Index(equal=("owner",)),
    ),
)
EQUAL = {"state": "open", "owner": "x"}
BY_DUE, BY_STATE, BY_OWNER = "plan-works by due", "plan-works by state, owner, due", "plan-works by owner, key"
BY_KEY = "sqlite_autoindex_documents_1"
E = "<expr>"


def plans(folder: Path, query: Query) -> list[list[str]]:
    connection = StoreFile(folder / "store.sqlite3", 1.0).connect(read_only=False)
    for statement in create_indexes_sql(WORKS):
        connection.execute(statement)
    with closing(connection):
        return [
            [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", (*values, 10))]
            for sql, values in build_statements(query)
        ]


@pytest.mark.parametrize(
    ("query", "seeks"),
    [
        (Query(WORKS), [f"{BY_KEY} (collection=?)"]),
        (Query(WORKS, after=(None, "k")), [f"{BY_KEY} (collection=? AND key>?)"]),
        (Query(WORKS, direction="desc", after=(None, "k")), [f"{BY_KEY} (collection=? AND key<?)"]),
        (Query(WORKS, {"owner": "x"}), [f"{BY_OWNER} ({E}=?)"]),
        (Query(WORKS, {"owner": None}), [f"{BY_OWNER} ({E}=?)"]),
        (Query(WORKS, {"owner": "x"}, after=(None, "k")), [f"{BY_OWNER} ({E}=? AND key>?)"]),
        (Query(WORKS, order="due", bounds=(Bound("<=", 5),)), [f"{BY_DUE} ({E}>? AND {E}<?)"]),
        (Query(WORKS, order="due", bounds=(Bound("==", 5),)), [f"{BY_DUE} ({E}=?)"]),
        (Query(WORKS, order="due", after=(5, "k")), [f"{BY_DUE} ({E}=? AND key>?)", f"{BY_DUE} ({E}>?)"]),
        (Query(WORKS, EQUAL, "due", "desc"), [f"{BY_STATE} ({E}=? AND {E}=?)"]),
        (
            Query(WORKS, EQUAL, "due", "desc", (Bound(">", 1),), after=(5, "k")),
            [f"{BY_STATE} ({E}=? AND {E}=? AND {E}=? AND key<?)", f"{BY_STATE} ({E}=? AND {E}=? AND {E}>? AND {E}<?)"],
        ),
    ],
)
def test_every_step_of_a_query_is_one_seek(tmp_path: Path, query: Query, seeks: list[str]) -> None:
    assert plans(tmp_path, query) == [[f"SEARCH documents USING INDEX {seek}"] for seek in seeks]


def test_index_in_order_is_scanned_not_sorted(tmp_path: Path) -> None:
    assert plans(tmp_path, Query(WORKS, order="due")) == [[f"SCAN documents USING INDEX {BY_DUE}"]]


@pytest.mark.parametrize(("direction", "steps"), [("asc", 1), ("desc", 0)])
def test_page_behind_null_is_everything_or_nothing(direction: Direction, steps: int) -> None:
    works = Collection("plan-works", (Index(order="due", direction=direction),))
    assert len(list(build_statements(Query(works, order="due", direction=direction, after=(None, "k"))))) == steps
