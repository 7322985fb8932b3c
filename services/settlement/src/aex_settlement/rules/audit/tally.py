"""Two ways to the same sums, held against each other in bounded memory. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from struct import unpack

Name = tuple[str | int | None, ...]
BUCKETS = 4096
_PRIME = (1 << 61) - 1
_WIDTH = 6


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the sums differ: the names with their differences where they are known, otherwise their buckets."""

    buckets: frozenset[int] = frozenset()
    names: Mapping[Name, tuple[int, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.buckets or self.names)


class Tally:
    """Sums by name: what is expected is added, what is stored is taken away, and nothing must remain.

    Names beyond `held` are folded into buckets: of each bucket one sum of values × a random coefficient of their
    name, modulo 2⁶¹ − 1. A bucket whose names do not all come to zero is zero itself with a chance of 2⁻⁶¹ only, and
    nobody who does not know the key can aim at it. A second tally of the `chosen` buckets alone then finds the names.
    """

    def __init__(self, key: bytes, held: int, chosen: frozenset[int] | None = None) -> None:
        self._key = key
        self._held = held
        self._chosen = chosen
        self._sums: dict[Name, list[int]] = {}
        self._buckets = [0] * BUCKETS
        self._folded = False

    def add(self, name: Name, values: Sequence[int], sign: int = 1) -> None:
        """Add (or, with −1, take away) up to six sums of one name."""
        sums = self._sums.get(name)
        if sums is not None:
            for at, value in enumerate(values):
                sums[at] += sign * value
            return
        if self._chosen is not None and self._place(name)[0] not in self._chosen:
            return
        self._sums[name] = [sign * value for value in values]
        if self._chosen is None and len(self._sums) > self._held:
            self._fold()

    def copy(self) -> "Tally":
        """The same sums, to go on from separately."""
        other = Tally(self._key, self._held, self._chosen)
        other._sums = {name: list(sums) for name, sums in self._sums.items()}
        other._buckets, other._folded = list(self._buckets), self._folded
        return other

    def difference(self) -> Difference:
        """What remains."""
        if self._folded:
            self._fold()
            return Difference(buckets=frozenset(at for at, total in enumerate(self._buckets) if total))
        return Difference(names={name: tuple(sums) for name, sums in self._sums.items() if any(sums)})

    def _fold(self) -> None:
        self._folded = True
        for name, sums in self._sums.items():
            if any(sums):
                bucket, coefficients = self._place(name)
                folded = sum(value * each for value, each in zip(sums, coefficients, strict=False))
                self._buckets[bucket] = (self._buckets[bucket] + folded) % _PRIME
        self._sums.clear()

    def _place(self, name: Name) -> tuple[int, tuple[int, ...]]:
        """A name's bucket, and the coefficients of its sums."""
        drawn = unpack(
            f"<{_WIDTH + 1}Q", blake2b(repr(name).encode(), digest_size=8 * (_WIDTH + 1), key=self._key).digest()
        )
        return drawn[0] % BUCKETS, drawn[1:]
