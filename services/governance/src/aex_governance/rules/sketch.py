"""Sketches of texts: MinHash signatures, whose agreement estimates the Jaccard similarity of the texts' shingles."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sketch:
    """A MinHash signature."""

    signature: tuple[int, ...]
    """32-bit minima, one for each permutation."""
