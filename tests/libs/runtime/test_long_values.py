"""What is long is worked on in a thread, and nothing else."""

import threading
from typing import Any

import pytest

from aex_models.frozen import Frozen
from aex_runtime.long_values import SHORT, in_a_thread_if_long, is_longer


class Box(Frozen):
    inside: Any


LONG: dict[str, object] = {
    "a text": "x" * (SHORT + 1),
    "bytes": b"x" * (SHORT + 1),
    "a list": [0] * (SHORT + 1),
    "a tuple of texts": ("x" * SHORT, "x"),
    "names": {"x" * SHORT: 1},
    "values": {str(number): None for number in range(SHORT)},
    "a model's field": Box(inside={"deep": [["x" * SHORT]]}),
    "many small ones": [Box(inside=[1])] * (SHORT // 2),
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_what_is_long_is_long_wherever_it_is_long(value: object) -> None:
    assert is_longer(value, SHORT)


@pytest.mark.parametrize("value", ["x" * SHORT, [0] * (SHORT - 1), {}, None, 10**4_000, Box(inside={"a": [1.5]})])
def test_what_is_short_is_not_long(value: object) -> None:
    assert not is_longer(value, SHORT)


def test_to_look_at_a_value_costs_no_more_than_the_limit() -> None:
    endless: list[object] = []
    endless.append(endless)  # whoever looked to the end of it would not come back
    assert is_longer(endless, SHORT)


@pytest.mark.parametrize(("value", "here"), [("short", True), ("x" * (SHORT + 1), False)])
async def test_a_thread_is_for_long_values_alone(value: str, here: bool) -> None:
    assert (await in_a_thread_if_long(value, threading.get_ident) == threading.get_ident()) is here


@pytest.mark.parametrize("value", ["short", "x" * (SHORT + 1)])
async def test_what_goes_wrong_is_raised_wherever_it_does(value: str) -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_a_thread_if_long(value, fail)
