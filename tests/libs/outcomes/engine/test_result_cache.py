"""What extractors found is remembered for a while."""

from typing import Any

from aex_outcomes.engine.readings import Reading
from aex_outcomes.engine.result_cache import ResultCache


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_result_is_remembered_until_its_time_is_up() -> None:
    seconds = Seconds()
    cache = ResultCache(300, seconds)
    key = cache.key("section", {"a": 1}, "output")
    cache.put(key, {"m": Reading(1)})
    seconds.now = 299.9
    assert cache.get(key) == {"m": Reading(1)}
    seconds.now = 300
    assert cache.get(key) is None


def test_other_input_has_another_key() -> None:
    cache = ResultCache(300, Seconds())
    assert len({cache.key("a", 1), cache.key("a", 2), cache.key("b", 1), cache.key("a", "1")}) == 4


def test_nothing_is_remembered_without_a_time_to_live() -> None:
    cache = ResultCache(0, Seconds())
    key = cache.key("a")
    cache.put(key, {"m": Reading(1)})
    assert key is None
    assert cache.get(key) is None


def test_what_is_no_json_is_not_remembered() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    cache = ResultCache(300, Seconds())
    assert cache.key(object()) is None
    assert cache.key(deep) is None


def test_the_oldest_result_makes_room() -> None:
    cache = ResultCache(300, Seconds())
    keys = [cache.key(number) for number in range(300)]
    for key in keys:
        cache.put(key, {"m": Reading(1)})
    kept = [cache.get(key) is not None for key in keys]
    assert kept == [False] * 44 + [True] * 256
