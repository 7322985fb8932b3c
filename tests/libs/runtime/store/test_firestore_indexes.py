"""Which indexes Firestore needs for which queries."""

import pytest

from aex_runtime.store.firestore_indexes import IndexFile, Shape, covers, index_file
from aex_runtime.store.limits import check_collection
from aex_runtime.store.port import Collection, Direction, Index, InvalidDocument

NO_INDEX: IndexFile = {"indexes": [], "fieldOverrides": []}


def content(*indexes: Index) -> IndexFile:
    return index_file([Collection("works", indexes)])


def shape(*equal: str, order: str | None = None, direction: Direction = "asc") -> Shape:
    return Shape("works", equal, order, direction)


def test_a_collection_without_indexes_is_exempt_as_a_whole() -> None:
    exempt = {"collectionGroup": "works", "fieldPath": "record", "indexes": []}
    assert content() == {"indexes": [], "fieldOverrides": [exempt]}


def test_an_ordered_field_alone_is_excepted_from_the_exemption() -> None:
    assert content(Index(order="due", direction="desc"))["fieldOverrides"][1:] == [
        {
            "collectionGroup": "works",
            "fieldPath": "record.fields.due",
            "indexes": [{"order": "DESCENDING", "queryScope": "COLLECTION"}],
        }
    ]


def test_fields_together_make_a_composite_index() -> None:
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


def test_no_composite_index_is_of_one_field_alone() -> None:
    made = content(Index(), Index(order="due"), Index(("state",)), Index(("state",), "due"), Index(("a", "b", "c")))
    assert all(len(entry["fields"]) > 1 for entry in made["indexes"])


def test_the_file_does_not_depend_on_the_order_of_collections() -> None:
    one, other = Collection("a", (Index(order="due"),)), Collection("b", (Index(("x",), "due"),))
    assert index_file([one, other]) == index_file([other, one])


@pytest.mark.parametrize(
    ("index", "asked"),
    [
        (Index(), shape()),
        (Index(order="due"), shape(order="due")),
        (Index(order="due", direction="desc"), shape(order="due", direction="desc")),
        (Index(("state",)), shape("state")),
        (Index(("state",)), shape("state", direction="desc")),
        (Index(("owner", "state")), shape("owner", "state")),
        (Index(("state", "owner")), shape("owner", "state", direction="desc")),
        (Index(("state",), "due"), shape("state", order="due")),
        (Index(("state", "owner"), "due", "desc"), shape("owner", "state", order="due", direction="desc")),
    ],
)
def test_a_query_is_covered_by_its_index_and_by_no_exempt_collection(index: Index, asked: Shape) -> None:
    assert covers(content(index), asked)
    assert covers(content(), asked) is (asked == shape())


@pytest.mark.parametrize(
    ("index", "asked"),
    [
        (Index(), shape(direction="desc")),  # Firestore does not walk backwards through names
        (Index(order="due"), shape(order="due", direction="desc")),
        (Index(order="due"), shape(order="created")),
        (Index(order="due"), shape("due", order="due")),
        (Index(order="due"), shape("state")),
        (Index(("state",)), shape(order="state2")),
        (Index(("state", "owner")), shape("state")),
        (Index(("state",), "due"), shape(order="due")),
        (Index(("state",), "due"), shape("state")),
        (Index(("state",), "due"), shape("state", order="due", direction="desc")),
        (Index(("state",), "due"), shape("owner", order="due")),
        (Index(("state", "owner"), "due"), shape("state", order="due")),
        (Index(("state",), "due"), shape("owner", "state", order="due")),
    ],
)
def test_a_query_is_not_covered_by_another_index(index: Index, asked: Shape) -> None:
    assert not covers(content(index), asked)


def test_a_query_is_not_covered_by_the_index_of_another_collection() -> None:
    others = index_file([Collection("works"), Collection("others", (Index(("state",), "due"), Index(order="due")))])
    assert not covers(others, shape("state", order="due"))
    assert not covers(others, shape(order="due"))


def test_without_exemptions_firestore_has_single_fields_and_nothing_more() -> None:
    assert covers(NO_INDEX, shape(order="due", direction="desc"))
    assert covers(NO_INDEX, shape("owner", "state"))
    assert not covers(NO_INDEX, shape("owner", order="due"))


def test_what_expires_is_deleted_by_a_field_of_its_own_that_is_not_indexed() -> None:
    made = index_file([Collection("works", (Index(order="due"),), expires="due")])["fieldOverrides"]
    assert made[-1] == {"collectionGroup": "works", "fieldPath": "expires", "indexes": [], "ttl": True}
    assert made[:-1] == content(Index(order="due"))["fieldOverrides"]


def test_what_no_index_orders_cannot_say_when_a_document_expires() -> None:
    check_collection(Collection("works", (Index(order="due"),), expires="due"))
    with pytest.raises(InvalidDocument, match="works: until is no field that an index orders"):
        check_collection(Collection("works", (Index(order="due"),), expires="until"))
