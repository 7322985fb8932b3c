import pytest

from aex_runtime.store.firestore_indexes import IndexFile, build_index_file
from aex_runtime.store.limits import check_collection
from aex_runtime.store.port import Collection, Index, InvalidDocument


def content(*indexes: Index) -> IndexFile:
    return build_index_file([Collection("works", indexes)])


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


def test_equal_fields_are_indexed_in_both_directions() -> None:
    both = ["ASCENDING", "DESCENDING"]
    assert [each["order"] for each in content(Index(("state",)))["fieldOverrides"][1]["indexes"]] == both
    assert [each["fields"][-1]["order"] for each in content(Index(("state", "owner")))["indexes"]] == both
    assert content(Index()) == content()


def test_order_of_collections_does_not_change_the_file() -> None:
    one, other = Collection("a", (Index(order="due"),)), Collection("b", (Index(("x",), "due"),))
    assert build_index_file([one, other]) == build_index_file([other, one])


def test_expiry_has_an_unindexed_field() -> None:
    made = build_index_file([Collection("works", (Index(order="due"),), expires="due")])["fieldOverrides"]
    assert made[-1] == {"collectionGroup": "works", "fieldPath": "expires", "indexes": [], "ttl": True}
    assert made[:-1] == content(Index(order="due"))["fieldOverrides"]


def test_expiry_needs_an_ordered_field() -> None:
    check_collection(Collection("works", (Index(order="due"),), expires="due"))
    with pytest.raises(InvalidDocument, match="works: no index orders by until"):
        check_collection(Collection("works", (Index(order="due"),), expires="until"))
