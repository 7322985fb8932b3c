from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from aex_models.frozen import Identifier
from aex_runtime.store.limits import is_valid_name
from aex_runtime.store.port import Collection, Index, key_of

IDS = st.from_regex(r"[A-Za-z0-9._:@/+-]{1,128}", fullmatch=True)


@given(IDS)
def test_every_id_makes_a_key_that_a_store_takes(record_id: str) -> None:
    TypeAdapter(Identifier).validate_python(record_id)
    assert is_valid_name(key_of(record_id))


@given(IDS, IDS)
def test_different_ids_have_different_keys(one: str, other: str) -> None:
    assert (key_of(one) == key_of(other)) == (one == other)


def test_collections_with_other_indexes_differ() -> None:
    plain, indexed = Collection("works"), Collection("works", (Index(order="due"),))
    expiring = Collection("works", (Index(order="due"),), expires="due")
    assert len({plain, indexed, expiring, Collection("works"), Collection("works", (Index(order="due"),))}) == 3
