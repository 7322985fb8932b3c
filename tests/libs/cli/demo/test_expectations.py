import pytest

from aex_cli.demo.expectations import NotAsTold, given, until
from aex_client import Conflict, NotFound


class Counter:
    """Answers 404 at first, then counts."""

    def __init__(self, absent: int) -> None:
        self.asked = 0
        self._absent = absent

    async def look(self) -> int:
        self.asked += 1
        if self.asked <= self._absent:
            raise NotFound(404, "not_found", "not yet")
        return self.asked


async def test_what_is_not_there_yet_is_asked_for_again_until_it_is_settled() -> None:
    assert await until(Counter(2).look, "the count", lambda count: count > 3) == 4


async def test_waiting_has_a_bound_and_says_what_did_not_come() -> None:
    with pytest.raises(NotAsTold, match=r"the count did not come within 0\.1 s"):
        await until(Counter(1_000).look, "the count", within_s=0.1)


async def test_other_refusals_are_not_waited_out() -> None:
    async def refused() -> int:
        raise Conflict(409, "held", "held")

    with pytest.raises(Conflict):
        await until(refused, "the count")


def test_what_is_missing_is_named() -> None:
    assert given(0, "a number") == 0
    with pytest.raises(NotAsTold, match="a number is missing"):
        given(None, "a number")
