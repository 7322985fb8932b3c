"""Similarity of a candidate's output to earlier outputs of its contract.

Two outputs are compared by their text and by their form, the canonical JSON; the greater similarity counts. The text is
compared only where criteria measure it or it is at least half of the form. Long runs without a blank, and parts that
only one output has, weigh little. So padding does not make a small edit look like a new output.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_outcomes.engine.candidate import MAX_EARLIER
from aex_outcomes.kernels.similarity import similarity_discounting_insertions

MAX_COMPARED = 100_000
"""Maximum code points that are compared of a text without a form."""
MAX_PART = MAX_COMPARED // 2
"""Maximum code points that are stored and compared of a form, and of the text beside it."""
_SEPARATOR = "\x1e"
"""Separator of text and form; JSON escapes it."""
_LITERAL = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_LONGEST_WORD = 40
"""Maximum characters of a word in scripts with blanks; a longer run is cut."""
_RUN = re.compile(rf"[!-\u0dff]{{{_LONGEST_WORD + 1},}}")
_RUN_PREFIX = 8
_LONG_LITERAL = 200
_MAX_READ = 1_000_000
"""Maximum code points of a form in which long strings are searched."""


def build_comparable_form(output: Any, text: str | None, *, abbreviate_strings: bool = False) -> str | None:
    """Return the text and the canonical JSON of an output in one string, truncated, for later comparison.

    `text`: the output's text. `abbreviate_strings`: replace long strings by digests, as in a form that is too long.
    None if the output is only its text, or cannot be written as canonical JSON.
    """
    if text and (output == text or (isinstance(output, dict) and [*output.values()] == [text])):
        return f"{text[:MAX_PART]}{_SEPARATOR}" if _SEPARATOR in text else None
    try:
        form = _without_long_runs(canonical_bytes(output).decode()[:_MAX_READ])
    except NotCanonical:
        return None
    if abbreviate_strings or len(form) > MAX_PART:
        form = _LITERAL.sub(_abbreviate, form)
    return f"{(text or '')[:MAX_PART]}{_SEPARATOR}{form[:MAX_PART]}"


def output_similarities(
    current: str | None, earlier: Mapping[str, str], *, text_is_measured: bool = False
) -> dict[str, float]:
    """Return the similarity of this output to each of the 20 latest earlier ones, by their hash.

    Outputs are given as results of `build_comparable_form`, or as their text if the result is None. `earlier`: by hash,
    the oldest first. `text_is_measured`: criteria measure the text. Outputs that differ only beyond the truncation are
    left out.
    """
    if current is None:
        return {}
    found = {
        digest: _similarity(_parts(current), _parts(each), text_is_measured=text_is_measured)
        for digest, each in [*earlier.items()][-MAX_EARLIER:]
    }
    return {digest: round(similarity, 6) for digest, similarity in found.items() if similarity is not None}


def _parts(form: str) -> tuple[str, str]:
    """Return the text and the form of an output; a missing one is empty."""
    text, _, json_form = form.rpartition(_SEPARATOR) if _SEPARATOR in form else (form, "", "")
    return text, json_form


def _similarity(first: tuple[str, str], second: tuple[str, str], *, text_is_measured: bool) -> float | None:
    """Return the similarity of two outputs; None if they are equal up to the truncation."""
    found = []
    if first[1] and second[1] and first[1] != second[1]:
        found.append(similarity_discounting_insertions(first[1], second[1]))
        if not text_is_measured and not all(2 * len(text) >= len(form) for text, form in (first, second)):
            return found[0]
    limit = MAX_PART if first[1] or second[1] else MAX_COMPARED
    text, second_text = first[0][:limit], second[0][:limit]
    if text and second_text and text != second_text:
        found.append(similarity_discounting_insertions(_cut_runs(text), _cut_runs(second_text)))
    return max(found, default=None)


def _cut_runs(text: str) -> str:
    return _RUN.sub(lambda run: run[0][:_RUN_PREFIX], text)


def _without_long_runs(form: str) -> str:
    """Shorten long runs without a blank within strings only, because lists of numbers are such runs too."""
    if '\\"' in form:
        return _LITERAL.sub(_shorten_runs, form)
    pieces = form.split('"')  # no quote is escaped: every other piece is a string
    for index in range(1, len(pieces) - 1, 2):
        if len(pieces[index]) > _LONGEST_WORD:
            pieces[index] = _cut_runs(pieces[index])
    return '"'.join(pieces)


def _shorten_runs(literal: re.Match[str]) -> str:
    string: str = literal[0]
    return f'"{_cut_runs(string[1:-1])}"' if len(string) > _LONGEST_WORD else string


def _abbreviate(literal: re.Match[str]) -> str:
    """Replace a long string by its beginning and a digest, which changes with the string's end too."""
    string: str = literal[0]
    if len(string) <= _LONG_LITERAL:
        return string
    return f'{string[:_RUN_PREFIX]}{hashlib.sha256(string.encode()).hexdigest()[:_RUN_PREFIX]}"'
