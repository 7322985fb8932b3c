"""So many at once, of one caller and of all."""

import pytest

from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.http.turnstile import Turnstile


def test_one_caller_takes_no_more_than_its_share() -> None:
    turnstile = Turnstile(1, 2, "exports", "exports_busy")
    with turnstile.passed("a"):
        with (
            pytest.raises(RateLimited, match="at most 1 of your exports run at once") as refused,
            turnstile.passed("a"),
        ):
            pass
        with turnstile.passed("b"):
            with pytest.raises(TemporarilyUnavailable, match="no place for further exports"), turnstile.passed("c"):
                pass
            assert turnstile.inside == 2
    assert refused.value.code == "too_many_exports"
    assert turnstile.inside == 0


def test_whoever_fails_inside_leaves_its_place() -> None:
    turnstile = Turnstile(1, 1, "exports", "exports_busy")
    with pytest.raises(RuntimeError), turnstile.passed("a"):
        raise RuntimeError
    with turnstile.passed("a"):
        assert turnstile.inside == 1


def test_the_last_places_are_for_those_who_are_preferred() -> None:
    turnstile = Turnstile(2, 3, "exports", "exports_busy", kept=1)
    with turnstile.passed("a"), turnstile.passed("b"):
        with pytest.raises(TemporarilyUnavailable), turnstile.passed("c"):
            pass
        with turnstile.passed("finance", preferred=True):
            assert turnstile.inside == 3
            with pytest.raises(TemporarilyUnavailable), turnstile.passed("finance", preferred=True):
                pass
