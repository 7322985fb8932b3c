"""Which references are secrets: not those that the agent was given in the work's own input."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aex_outcomes.engine.spoken import strings_of
from aex_outcomes.extractors.text import UNFOLDED
from aex_outcomes.kernels.folding import UnfoldsTooFar
from aex_outcomes.kernels.words import words_of

MAX_SEARCHED = 1_000_000
"""Code points of the input that are searched."""
_Run = tuple[str, ...]
_LONGEST_RUN = 5
"""Words in a row that have to be in the input for them to count as found there."""
_VISIBLE = 0.9
"""Share of a reference's words that have to be found: an extract may leave a word out, or join sentences."""


def hidden_of(references: Sequence[str], work_input: Mapping[str, Any]) -> tuple[str, ...]:
    """The references that the input does not show, be it in one piece or sentence by sentence."""
    given = strings_of(work_input)[:MAX_SEARCHED]
    if not references or not given:
        return tuple(references)
    pieces = [_words(each) for each in references]
    found = _found(pieces, _words(given))
    return tuple(each for each, words in zip(references, pieces, strict=True) if not _is_shown(words, found))


def _found(references: Sequence[Sequence[str]], given: Sequence[str]) -> set[_Run]:
    """Those runs of all references that are in the input: it is gone through once for each length of a run."""
    wanted: dict[int, set[_Run]] = {}
    for words in references:
        size = _size(words)
        wanted.setdefault(size, set()).update(_runs(words, size))
    return set().union(*(runs.intersection(_runs(given, size)) for size, runs in wanted.items() if size))


def _is_shown(reference: Sequence[str], found: set[_Run]) -> bool:
    size = _size(reference)
    places = [place for place, run in enumerate(_runs(reference, size)) if run in found]
    covered = {place + step for place in places for step in range(size)}
    return bool(covered) and len(covered) >= _VISIBLE * len(reference)


def _size(reference: Sequence[str]) -> int:
    return min(_LONGEST_RUN, len(reference))


def _runs(words: Sequence[str], size: int) -> Iterable[_Run]:
    return zip(*(words[start:] for start in range(size)), strict=False)


def _words(text: str) -> list[str]:
    """As the required keywords are looked for: case, white space and punctuation make no difference."""
    try:
        return words_of(text, UNFOLDED * MAX_SEARCHED)
    except UnfoldsTooFar:
        return words_of(text[: MAX_SEARCHED // 10])
