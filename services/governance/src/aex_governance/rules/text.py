"""An output's text as the rules about likeness read it.

Free text is prose, of whose possible wordings there are so many that equal ones are no coincidence. Labels, tables,
data, code and lists of short items are none: correct ones are often equal.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from aex_governance.rules.folding import folded
from aex_governance.rules.sketch import Sketch, sketch_of

MAX_READ = 200_000
"""Code points; what follows is not read."""
MIN_TOKENS = 50
_UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai to Tibetan, Myanmar, Khmer, kana, Han."""
_TOKEN = re.compile(rf"(?=\w)[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_UNSPACED_TOKEN = re.compile(rf"[{_UNSPACED}]")
_WORDS_PER_CHARACTER = 0.6
"""Of an unspaced script: a Chinese word has 1.7 characters on average."""
_SENTENCE_ENDS = ".!?…。！？｡।؟۔։።"
_CLAUSE = re.compile(rf"[{_SENTENCE_ENDS},](?!\d)|[;:|\t=(){{}}\[\]<>,、，；：،؛]")
_SENTENCE_END = re.compile(rf"[{_SENTENCE_ENDS}](?!\d)")
_CLAUSE_WORDS = 4.5
"""A clause of prose is this long or longer: five words, eight Chinese characters."""
_BARE_LINE_WORDS = 7.5
"""A line without any punctuation must be longer: shorter ones are titles, names, items."""
_MIN_PROSE = 30
_MIN_PROSE_SHARE = 0.4
_VARIETY_SAMPLE = 300
_MIN_VARIETY = 0.45
"""Distinct among the pairs of neighbouring tokens, where the same sentence with another label in it is no prose."""


@dataclass(frozen=True, slots=True)
class FreeText:
    """What was read of a text."""

    tokens: int
    """Words, in scripts without spaces characters."""
    is_free: bool
    """Whether it is prose long enough to tell copies from coincidence: equal labels and short answers are not."""
    sketch: Sketch | None
    """None where it is not free text."""


def read_text(text: str) -> FreeText:
    """Read a text of any length and content: whoever wrote it may be hostile."""
    plain = folded(text[:MAX_READ])[:MAX_READ]
    tokens = tokens_of(plain)
    is_free = len(tokens) >= MIN_TOKENS and _is_prose(plain, len(tokens))
    return FreeText(len(tokens), is_free, sketch_of(tokens) if is_free else None)


def tokens_of(plain: str) -> list[str]:
    """The words of a folded text, in scripts without spaces its characters."""
    return _TOKEN.findall(plain)


def _is_prose(plain: str, tokens: int) -> bool:
    return any(_is_varied(_prose_of(clauses), tokens) for clauses in (_clauses_by_line(plain), _sentences(plain)))


def _is_varied(prose: Sequence[Sequence[str]], tokens: int) -> bool:
    if sum(map(len, prose)) < max(_MIN_PROSE, _MIN_PROSE_SHARE * tokens):
        return False
    pairs = [pair for clause in prose for pair in pairwise(clause)][:_VARIETY_SAMPLE]
    return len(set(pairs)) >= _MIN_VARIETY * len(pairs)


def _prose_of(clauses: Iterator[tuple[str, float]]) -> list[tuple[str, ...]]:
    """The words of those clauses, each once, that have as many of them as they need."""
    found: dict[tuple[str, ...], None] = {}
    for clause, least in clauses:
        words = tuple(token for token in tokens_of(clause) if not token.isdecimal())
        if _length(words) >= least:
            found[words] = None
    return list(found)


def _clauses_by_line(plain: str) -> Iterator[tuple[str, float]]:
    """Each clause with the number of words that it needs; lines end clauses, as in lists and tables."""
    for line in plain.splitlines():
        clauses = _CLAUSE.split(line.strip())
        bare = len(clauses) == 1
        for clause in clauses:
            yield clause, _BARE_LINE_WORDS if bare else _CLAUSE_WORDS


def _sentences(plain: str) -> Iterator[tuple[str, float]]:
    """Each sentence that ends as one, wherever its lines are broken."""
    for sentence in _SENTENCE_END.split(plain)[:-1]:
        clauses = [clause for clause in _CLAUSE.split(sentence.replace("\t", " ")) if clause.strip()]
        yield sentence, _CLAUSE_WORDS * max(1.0, 0.6 * len(clauses))


def _length(words: Sequence[str]) -> float:
    return sum(_WORDS_PER_CHARACTER if _UNSPACED_TOKEN.match(word) else 1.0 for word in words)
