"""Collections as the keys of what is known about them."""

from aex_runtime.store.port import Collection, Index


def test_collections_of_one_name_with_other_indexes_are_told_apart() -> None:
    plain, indexed = Collection("works"), Collection("works", (Index(order="due"),))
    expiring = Collection("works", (Index(order="due"),), expires="due")
    assert len({plain, indexed, expiring, Collection("works"), Collection("works", (Index(order="due"),))}) == 3
