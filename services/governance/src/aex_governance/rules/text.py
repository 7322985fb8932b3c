"""An output's text as the rules about likeness read it.

Free text is prose, of whose possible wordings there are so many that equal ones are no coincidence. Labels, tables,
data, code and lists of short items are none: correct ones are often equal.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise

from aex_governance.rules.folding import folded
from aex_governance.rules.scripts import UNSPACED
from aex_governance.rules.sketch import Sketch, sketch_of
from aex_governance.rules.wording import wording_of

MAX_READ = 200_000
"""Code points; what follows is not read."""
MIN_TOKENS = 50
"""Shorter texts are not in the indexes."""
MIN_TOKENS_NOTE = "Words (characters in scripts without spaces) that free text must have; no index holds shorter ones."
_WORDS_PER_CHARACTER = 0.6
"""Of an unspaced script: a Chinese word has 1.7 characters on average."""
_SENTENCE_ENDS = ".!?…。！？｡।؟۔։።"
_CLAUSE = re.compile(rf"[{_SENTENCE_ENDS},](?!\d)|[;:|\t=(){{}}\[\]<>,、，；：،؛]")
_SENTENCE_END = re.compile(rf"[{_SENTENCE_ENDS}](?!\d)")
_CLAUSE_WORDS = 4.5
"""A clause of prose is this long or longer: five words, eight Chinese characters."""
_BARE_LINE_WORDS = 7.5
"""A line without any punctuation must be longer: shorter ones are titles, names, items."""
_MIN_WRAPPED_LINES = 6
_MIN_RAGGED = 4
"""Characters between the narrowest and the widest line of wrapped words; rows of a table differ less."""
_LETTER = rf"[^\W\d_{UNSPACED}]"
_LONGEST_WORD = 30
"""Letters; more of them at the same distance are words, too, but nothing tells where one ends."""
_MIN_PROSE = 30
_MIN_PROSE_SHARE = 0.4
_SENTENCE = 6.0
_NUMBERED_SENTENCE = 8.0
"""Words. `The sentiment of review 12 is positive.` is a label."""
_MIN_DIFFERENT = 0.6
_VARIETY_SAMPLE = 300
_MIN_VARIETY = 0.45
"""Distinct among the pairs of neighbouring tokens, where the same sentence with another label in it is no prose."""


# Patterns of wide ranges are made when the first text is read: they take 6 ms, of each start.


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"(?=\w)[{UNSPACED}]|[^\W_{UNSPACED}]+")


@cache
def _unspaced_token() -> re.Pattern[str]:
    return re.compile(rf"[{UNSPACED}]")


@cache
def _spaced_word() -> re.Pattern[str]:
    """Letters with one and the same mark between them; between words there is another, or more of it."""
    return re.compile(rf"(?<![^\W_]){_LETTER}([ .·*_•‧~+=|/'’-]){_LETTER}(?:\1{_LETTER})*+(?![^\W_])")


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
    raw = text[:MAX_READ]
    plain = folded(raw)[:MAX_READ]
    tokens = tokens_of(plain)
    if 2 * sum(map(_is_letter, tokens)) > len(tokens):
        plain = _spaced_word().sub(_closed_up, plain)
        tokens = tokens_of(plain)
    is_free = len(tokens) >= MIN_TOKENS and _is_prose(raw, plain, tokens)
    return FreeText(len(tokens), is_free, sketch_of(tokens) if is_free else None)


def tokens_of(plain: str) -> list[str]:
    """The words of a folded text, in scripts without spaces its characters."""
    return _token().findall(plain)


def _is_letter(token: str) -> bool:
    return len(token) == 1 and token.isalpha() and not _unspaced_token().match(token)


def _closed_up(word: re.Match[str]) -> str:
    spaced: str = word[0]
    return spaced if len(spaced) >= 2 * _LONGEST_WORD else spaced.replace(word[1], "")


def _is_prose(raw: str, plain: str, tokens: Sequence[str]) -> bool:
    """By its words; by its sentences; or by clauses of words that may be prose."""
    words = wording_of(raw, plain, tokens, _MIN_PROSE_SHARE)
    if words.is_prose or words.is_list:
        return words.is_prose
    if _are_sentences(plain, len(tokens)):
        return True
    return words.may_be_prose and any(_is_varied(_prose_of(clauses), len(tokens)) for clauses in _readings(plain))


def _are_sentences(plain: str, tokens: int) -> bool:
    """Whether much of it is whole sentences, be they repeated: a short one with a number is a label's."""
    found = 0
    for sentence in _SENTENCE_END.split(plain)[:-1]:
        words = [token for token in tokens_of(sentence) if not token.isdecimal()]
        numbered = len(words) < len(tokens_of(sentence))
        if _length(words) >= (_NUMBERED_SENTENCE if numbered else _SENTENCE) and _is_whole(sentence, words):
            found += len(words)
    return found >= max(_MIN_PROSE, _MIN_PROSE_SHARE * tokens)


def _is_whole(sentence: str, words: Sequence[str]) -> bool:
    """Not a list that ends with a full stop: most of its words differ, and few marks stand among them."""
    different = len(set(words)) >= _MIN_DIFFERENT * len(words)
    return different and len(_CLAUSE.findall(sentence)) * _CLAUSE_WORDS <= len(words)


def _readings(plain: str) -> Iterator[Iterator[tuple[str, float]]]:
    """The text's clauses in each way in which its lines may be meant."""
    lines = plain.split("\n")
    yield _clauses_by_line(lines)
    yield _sentences(plain)
    if len(unwrapped := list(_unwrapped(lines))) < len(lines):
        yield _clauses_by_line(unwrapped)


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


def _unwrapped(lines: Iterable[str]) -> Iterator[str]:
    """The lines, those of each wrapped paragraph as one."""
    for blank, block in groupby(lines, key=lambda line: not line.strip()):
        paragraph = [line.strip() for line in block]
        if not blank and _is_wrapped(paragraph):
            yield " ".join(paragraph)
        else:
            yield from paragraph


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Whether no line but the last has room for the next one's first word. Items of a list end where they will."""
    if len(lines) < _MIN_WRAPPED_LINES or any("  " in line or "\t" in line for line in lines):
        return False
    widths = [len(line) for line in lines[:-1]]
    widest = max(widths)
    if widest - min(widths) < _MIN_RAGGED or sum(line.count(" ") for line in lines) < 2 * len(lines):
        return False
    firsts = [line.partition(" ")[0] for line in lines[1:]]
    return all(width + 1 + len(first) > widest for width, first in zip(widths, firsts, strict=True))


def _clauses_by_line(lines: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Each clause with the number of words that it needs; lines end clauses, as in lists and tables."""
    for line in lines:
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
    return sum(_WORDS_PER_CHARACTER if _unspaced_token().match(word) else 1.0 for word in words)
