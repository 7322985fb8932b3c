import pytest

from aex_runtime.store.firestore_indexes import IndexFile, index_file
from aex_runtime.store.limits import check_collection
from aex_runtime.store.port import Collection, Direction, Index, InvalidDocument
from tests.parts.query_shapes import Shape, covers

NO_INDEX: IndexFile = {"indexes": [], "fieldOverrides": []}


def content(*indexes: Index) -> IndexFile:
    return index_file([Collection("works", indexes)])


def shape(*equal: str, order: str | None = None, direction: Direction = "asc") -> Shape:
    return Shape("works", equal, order, direction)


def test_collection_without_indexes_is_exempt() -> None:
    exempt = {"collectionGroup": "works", "fieldPath": "record", "indexes": []}
    assert content() == {"indexes": [], "fieldOverrides": [exempt]}


def test_single_ordered_field_is_indexed() -> None:
    assert content(Index(order="due", direction="desc"))["fieldOverrides"][1:] == [
        {
            "collectionGroup": "works",
            "fieldPath": "record.fields.due",
            "indexes": [{"order": "DESCENDING", "queryScope": "COLLECTION"}],
        }
    ]


def test_several_fields_make_a_composite_index() -> None:
    made = content(Index(("state", "owner"), "due", "desc"))
    assert [entry["fieldPath"] for entry in made["fieldOverrides"]] == ["record"]
    assert made["indexes"] == [
        {
            "collectionGroup": "works",
            "queryScope": "COLLECTION",
            "fields": [
                {"fieldPath": "record.fields.state", "order": "ASCENDING"},
                {"fieldPath": "record.fields.owner", "order": "ASCENDING"},
                {"fieldPath": "record.fields.due", "order": "DESCENDING"},
            ],
        }
    ]


def test_composite_index_has_several_fields() -> None:
    made = content(Index(), Index(order="due"), Index(("state",)), Index(("state",), "due"), Index(("a", "b", "c")))
    assert all(len(entry["fields"]) > 1 for entry in made["indexes"])


def test_order_of_collections_does_not_change_the_file() -> None:
    one, other = Collection("a", (Index(order="due"),)), Collection("b", (Index(("x",), "due"),))
    assert index_file([one, other]) == index_file([other, one])


@pytest.mark.parametrize(
    ("index", "query", "covered"),
    [
        (Index(), shape(), True),
        (Index(), shape(direction="desc"), False),  # Firestore does not walk backwards through names
        (Index(order="due"), shape(order="due"), True),
        (Index(order="due"), shape(order="due", direction="desc"), False),
        (Index(("state",)), shape("state", direction="desc"), True),
        (Index(("state", "owner")), shape("owner", "state", direction="desc"), True),
        (Index(("state", "owner")), shape("state"), False),
        (Index(("state",), "due"), shape("state"), False),
        (Index(("state",), "due"), shape("owner", order="due"), False),
        (Index(("state", "owner"), "due", "desc"), shape("owner", "state", order="due", direction="desc"), True),
        (Index(("state", "owner"), "due"), shape("state", order="due"), False),
    ],
)
def test_index_covers_its_own_queries(index: Index, query: Shape, covered: bool) -> None:
    assert covers(content(index), query) is covered
    assert covers(content(), query) is (query == shape())
    assert covers(index_file([Collection("works"), Collection("others", (index,))]), query) is (query == shape())


def test_firestore_indexes_single_fields_without_exemptions() -> None:
    assert covers(NO_INDEX, shape(order="due", direction="desc"))
    assert covers(NO_INDEX, shape("owner", "state"))
    assert not covers(NO_INDEX, shape("owner", order="due"))


def test_expiry_has_an_unindexed_field() -> None:
    made = index_file([Collection("works", (Index(order="due"),), expires="due")])["fieldOverrides"]
    assert made[-1] == {"collectionGroup": "works", "fieldPath": "expires", "indexes": [], "ttl": True}
    assert made[:-1] == content(Index(order="due"))["fieldOverrides"]


def test_expiry_needs_an_ordered_field() -> None:
    check_collection(Collection("works", (Index(order="due"),), expires="due"))
    with pytest.raises(InvalidDocument, match="works: no index orders by until"):
        check_collection(Collection("works", (Index(order="due"),), expires="until"))
