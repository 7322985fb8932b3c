"""Values cross between tester and candidate by exact type, with aliases and cycles."""

import collections
import datetime as dt
import enum
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.testing.value_decoder import ProtocolError, ValueDecoder
from aex_outcomes.testing.value_encoder import MAX_DEPTH, Node, TooDeep, ValueEncoder


def refuse(_: Any, value: Any) -> Node:
    raise TypeError(f"does not cross: {value!r}")


def crossed(value: Any) -> Any:
    message = json.loads(json.dumps(ValueEncoder(refuse).encode([value])))
    [found] = ValueDecoder(refuse).decode(message)
    return found


hashable: st.SearchStrategy[Any] = st.deferred(
    lambda: (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(st.characters())
        | st.binary(max_size=20)
        | st.decimals(allow_nan=False)
        | st.fractions()
        | st.datetimes(timezones=st.none() | st.just(dt.UTC))
        | st.dates()
        | st.times()
        | st.timedeltas()
        | st.lists(hashable, max_size=3).map(tuple)
        | st.frozensets(st.integers() | st.text(), max_size=3)
    )
)
values = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.lists(inner, max_size=4).map(collections.deque)
        | st.dictionaries(hashable, inner, max_size=4).map(collections.OrderedDict)
        | st.lists(inner, max_size=4).map(tuple)
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple | collections.deque):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(map(same, one.items(), other.items()))
    return (
        bool(one == other) and repr(one) == repr(other) if isinstance(one, float | bool | int) else bool(one == other)
    )


@given(values)
def test_a_value_arrives_with_its_exact_type(value: Any) -> None:
    assert same(crossed(value), value)


@pytest.mark.parametrize(
    "value",
    [
        -0.0,
        math.inf,
        -math.inf,
        1 + 2j,
        bytearray(b"\x00\xff"),
        "\ud800",
        range(3, 9, 2),
        slice(1, None, 2),
        Ellipsis,
        NotImplemented,
        int,
        ValueError,
        collections.Counter("aab"),
        collections.deque([1, 2], maxlen=2),
        Decimal("1E-400"),
        Decimal("-0.00"),
        Fraction(1, 3),
        dt.timezone(dt.timedelta(hours=2), "here"),
        dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(minutes=-90))),
    ],
)
def test_a_special_value_crosses(value: Any) -> None:
    found = crossed(value)
    assert type(found) is type(value)
    assert found == value or type(value) is dt.timezone
    assert isinstance(value, int) or repr(found) == repr(value)


def test_a_number_of_many_digits_crosses() -> None:
    assert crossed([10**5_000, -(2**20_000)]) == [10**5_000, -(2**20_000)]


def test_not_a_number_stays_one() -> None:
    assert math.isnan(crossed(math.nan))


def test_a_default_dictionary_keeps_a_built_in_factory() -> None:
    found = crossed(collections.defaultdict(list, {1: [2]}))
    assert found[5] == []
    assert found == {1: [2], 5: []}


def test_views_of_dictionaries_compare_as_sets() -> None:
    source = {1: "a", 2: "b"}
    assert crossed(source.keys()) == {1, 2}
    assert crossed(source.items()) == {(1, "a"), (2, "b")}
    assert list(crossed(source.values())) == ["a", "b"]


def test_a_named_tuple_keeps_the_names_of_its_fields() -> None:
    make: Any = collections.namedtuple  # made at run time, as a program does
    point = crossed(make("Point", "x y")(1, [2]))
    assert (point.x, point.y, point) == (1, [2], (1, [2]))


class Sly(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Text(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(("value", "plain"), [(Sly(3), 3), (Text("a"), "a"), (Colour.RED, 1), ([Sly(2)], [2])])
def test_a_value_of_a_subclass_crosses_as_the_plain_value(value: Any, plain: Any) -> None:
    assert same(crossed(value), plain)


def test_aliases_and_cycles_survive() -> None:
    shared = [1]
    cycle: dict[str, Any] = {"pair": (shared, shared)}
    cycle["self"] = cycle
    shared.append(cycle)  # type: ignore[arg-type]
    found = crossed(cycle)
    assert found["self"] is found
    assert found["pair"][0] is found["pair"][1]
    assert found["pair"][0][1] is found


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    lists: Any = []
    tuples: Any = ()
    for _ in range(MAX_DEPTH - 2):
        lists, tuples = [lists], (tuples,)
    assert repr(crossed((lists, tuples))) == repr((lists, tuples))
    with pytest.raises(TooDeep):
        crossed([[lists]])
    with pytest.raises(TooDeep):
        crossed([(tuples,)])


@pytest.mark.parametrize(
    "message",
    [
        {},
        [],
        {"n": [], "r": [[0]]},
        {"n": [["t", [[0]]]], "r": [[0]]},
        {"n": [["z", [[1]]], ["l", []]], "r": [[0]]},
        {"n": [["d", [[[1], 1]]], ["l", []]], "r": [[0]]},
        {"n": [["N", "a b", ["x"], [1]]], "r": [[0]]},
        {"n": [["N", "class", ["__x"], [1]]], "r": [[0]]},
        {"n": [["N", "A", [5], [1]]], "r": [[0]]},
        {"n": [["N", "A", ["x" * 201], [1]]], "r": [[0]]},
        {"n": [["f", "1e5"]], "r": [[0]]},
        {"n": [["i", "five"]], "r": [[0]]},
        {"n": [["T", "eval"]], "r": [[0]]},
        {"n": [["M", "one"]], "r": [[0]]},
        {"n": [["R", 1, 0]], "r": [[0]]},
        {"n": [["dd", [2026, 13, 1]]], "r": [[0]]},
        {"n": [["a", 7, ["l", []]]], "r": [[0]]},
        {"n": [["l", [[-1]]]], "r": [[0]]},
        {"n": [["l", [[0.5]]]], "r": [[0]]},
        {"n": [["l", [[0, 0]]]], "r": [[0]]},
        {"n": [["?"]], "r": [[0]]},
        {"n": [[]], "r": [[0]]},
    ],
)
def test_a_message_that_no_honest_process_sends_is_a_protocol_error(message: Any) -> None:
    with pytest.raises(ProtocolError):
        ValueDecoder(refuse).decode(message)


def test_the_content_of_an_argument_is_written_back_into_the_same_object() -> None:
    inner: dict[str, Any] = {"a": 1}
    argument: list[Any] = [1, inner]
    sent = ValueEncoder(refuse)
    message = sent.encode([argument])
    received = ValueDecoder(refuse)
    [copy] = received.decode(message)
    copy.append(2)
    copy[1]["b"] = copy
    indexes = {id(value): index for index, value in received.values.items()}
    reply = ValueEncoder(refuse, indexes).encode([copy, *received.values.values()])
    [result, *_] = ValueDecoder(refuse, dict(enumerate(sent.objects))).decode(json.loads(json.dumps(reply)))
    assert result is argument
    assert argument[2] == 2
    assert argument[1] is inner
    assert inner["b"] is argument


def test_an_argument_is_not_written_back_as_another_type() -> None:
    with pytest.raises(ProtocolError):
        ValueDecoder(refuse, {0: []}).decode({"n": [["a", 0, ["d", []]]], "r": [[0]]})
