"""Which classes stand near a word, for all words at once: a cheap look that tells where a close one is worth while."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Neighbourhood:
    """The classes of a reading's words, gathered over stretches. Work: linear in the words for each width asked for."""

    masks: Sequence[int]
    _ahead: dict[int, list[int]] = field(default_factory=dict)

    def ahead(self, width: int) -> Sequence[int]:
        """For each place the classes of the `width` words from it on; `width` is a power of two."""
        if width == 1:
            return self.masks
        known = self._ahead.get(width)
        if known is None:
            half = self.ahead(width // 2)
            shifted = [*half[width // 2 :], *(0 for _ in range(min(width // 2, len(half))))]
            known = self._ahead[width] = [one | other for one, other in zip(half, shifted, strict=True)]
        return known

    def around(self) -> list[int]:
        """For each place the classes of the 16 words before it and the 16 from it on: no frame but salutations reaches
        further."""
        forward = self.ahead(16)
        back = [*(forward[0] for _ in range(min(16, len(forward)))), *forward[:-16]] if forward else []
        return [one | other for one, other in zip(forward, back, strict=True)]
