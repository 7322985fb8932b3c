"""How near a candidate's output is to earlier ones of its contract, whatever is put beside what matters.

Two things are compared, and the more alike counts: the form (canonical JSON of the output) and the text. The text
counts where it has changed, and where criteria measure it or it makes up at least half of the form: a short text that
stays, or a remark beside labels, says nothing of labels. What is no words (long runs without a blank) counts little in
both, and so does what only one of the two has: neither junk nor padding makes a small edit look like a new output.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_outcomes.engine.candidate import MOST_EARLIER
from aex_outcomes.kernels.likeness import likeness_but_for_insertions

MAX_COMPARED = 100_000
"""Code points of a text, where there is nothing else, that are compared."""
MAX_PART = MAX_COMPARED // 2
"""Code points that are kept and compared of the form, and of the text beside it."""
_BETWEEN = "\x1e"
"""Between a text and a form, which has none itself: JSON escapes it."""
_LITERAL = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_LONGEST_WORD = 40
"""Of a script with blanks between its words; what is longer is none."""
_RUN = re.compile(rf"[!-\u0dff]{{{_LONGEST_WORD + 1},}}")
_KEPT_OF_RUN = 8
_LONG_LITERAL = 200
_MAX_READ = 1_000_000
"""Code points of a form in which long strings are looked for."""


def structured_form(output: Any, text: str | None, *, briefly: bool = False) -> str | None:
    """The text, a separator and the canonical JSON of the output, both cut; None where the output is its text alone.

    `briefly`: long strings by their digests, also where there is room: nothing is measured but what else there is.
    """
    if text and (output == text or (isinstance(output, dict) and [*output.values()] == [text])):
        return f"{text[:MAX_PART]}{_BETWEEN}" if _BETWEEN in text else None
    try:
        form = _without_long_runs(canonical_bytes(output).decode()[:_MAX_READ])
    except NotCanonical:
        return None
    if briefly or len(form) > MAX_PART:
        form = _LITERAL.sub(_named, form)
    return f"{(text or '')[:MAX_PART]}{_BETWEEN}{form[:MAX_PART]}"


def likenesses(present: str | None, earlier: Mapping[str, str], *, measured: bool = False) -> dict[str, float]:
    """Of each earlier output, by its hash, the likeness to this one: the latest `MOST_EARLIER` of them.

    Outputs are given as `structured_form` makes them, or as their text. `earlier` is in order, the oldest first.
    `measured`: whether criteria measure the text. What cannot be told is left out: outputs that differ where both were
    cut off.
    """
    if present is None:
        return {}
    found = {
        digest: _alike(_parts(present), _parts(each), measured=measured)
        for digest, each in [*earlier.items()][-MOST_EARLIER:]
    }
    return {digest: round(alike, 6) for digest, alike in found.items() if alike is not None}


def _parts(whole: str) -> tuple[str, str]:
    """Text and form, either of them empty where there is none."""
    text, _, form = whole.rpartition(_BETWEEN) if _BETWEEN in whole else (whole, "", "")
    return text, form


def _alike(one: tuple[str, str], other: tuple[str, str], *, measured: bool) -> float | None:
    """None where all that is known of the two is equal, though they are not."""
    found = []
    if all(each[1] for each in (one, other)) and one[1] != other[1]:
        found.append(likeness_but_for_insertions(one[1], other[1]))
        if not measured and not (_is_mostly_text(one) and _is_mostly_text(other)):
            return found[0]
    most = MAX_PART if one[1] or other[1] else MAX_COMPARED
    text, against = one[0][:most], other[0][:most]
    if text and against and text != against:
        found.append(likeness_but_for_insertions(_plain(text), _plain(against)))
    return max(found, default=None)


def _is_mostly_text(parts: tuple[str, str]) -> bool:
    return 2 * len(parts[0]) >= len(parts[1])


def _plain(text: str) -> str:
    return _RUN.sub(lambda run: run[0][:_KEPT_OF_RUN], text)


def _without_long_runs(form: str) -> str:
    """Of its strings. Lists of numbers have no blanks either."""
    if '\\"' in form:
        return _LITERAL.sub(_shortened, form)
    pieces = form.split('"')  # no quote is escaped: every other piece is a string
    for place in range(1, len(pieces) - 1, 2):
        if len(pieces[place]) > _LONGEST_WORD:
            pieces[place] = _plain(pieces[place])
    return '"'.join(pieces)


def _shortened(literal: re.Match[str]) -> str:
    whole: str = literal[0]
    return f'"{_plain(whole[1:-1])}"' if len(whole) > _LONGEST_WORD else whole


def _named(literal: re.Match[str]) -> str:
    """A long string by its beginning and its digest, so that what comes behind it is seen."""
    whole: str = literal[0]
    if len(whole) <= _LONG_LITERAL:
        return whole
    return f'{whole[:_KEPT_OF_RUN]}{hashlib.sha256(whole.encode()).hexdigest()[:_KEPT_OF_RUN]}"'
