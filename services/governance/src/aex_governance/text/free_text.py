"""Recognition of free text, and its MinHash sketch.

Free text is prose so long that two identical ones are no coincidence. Labels, tables, data, code and lists of short
items are not free text: correct ones are often identical.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from struct import pack, unpack

from rensa import RMinHash

from aex_governance.text.normalization import UNSPACED, confusable_skeleton
from aex_governance.text.wording import analyze_wording

MAX_READ = 200_000
"""Characters (code points) of a text that are read."""
MIN_TOKENS = 50
"""Tokens below which a text is not free text, and not in the indexes."""
MIN_TOKENS_NOTE = "Words (characters in scripts without spaces) that free text must have; no index holds shorter ones."
_WORDS_PER_CHARACTER = 0.6
"""Words per character in scripts without spaces: a Chinese word has 1.7 characters on average."""
_SENTENCE_ENDS = ".!?…。！？｡।؟۔։።"
_CLAUSE = re.compile(rf"[{_SENTENCE_ENDS},](?!\d)|[;:|\t=(){{}}\[\]<>,、，；：،؛]")
_SENTENCE_END = re.compile(rf"[{_SENTENCE_ENDS}](?!\d)")
_CLAUSE_WORDS = 4.5
"""Words that a clause of prose has at least: five words, or eight Chinese characters."""
_BARE_LINE_WORDS = 7.5
"""Words that a line of prose without punctuation has at least; shorter ones are titles, names or items."""
_MIN_WRAPPED_LINES = 6
_MIN_RAGGED = 4
"""Characters between the narrowest and the widest line of a wrapped paragraph; rows of a table differ less."""
_LETTER = rf"[^\W\d_{UNSPACED}]"
_LONGEST_WORD = 30
"""Letters of a word that is written with spaces between its letters; a longer run is not joined."""
_MIN_PROSE = 30
_MIN_PROSE_SHARE = 0.4
_SENTENCE = 6.0
_NUMBERED_SENTENCE = 8.0
"""Words of a sentence with a number. `The sentiment of review 12 is positive.` is a label."""
_MIN_DIFFERENT = 0.6
_VARIETY_SAMPLE = 300
_MIN_VARIETY = 0.45
"""Distinct share of neighbouring token pairs in prose; a sentence repeated with other labels has less."""


# Patterns of wide ranges are compiled on first use, by `re` itself: they take 6 ms of each start.
_TOKEN = rf"(?=\w)[{UNSPACED}]|[^\W_{UNSPACED}]+"
_UNSPACED_TOKEN = rf"[{UNSPACED}]"
_SPACED_WORD = rf"(?<![^\W_]){_LETTER}([ .·*_•‧~+=|/'’-]){_LETTER}(?:\1{_LETTER})*+(?![^\W_])"
"""Pattern of a word whose letters are separated by one and the same mark."""
PERMUTATIONS = 128
BANDS = 16
ROWS = 3
"""Rows per band. Texts that agree in all rows of a band are compared: 91 % of those of similarity 0.52, all at 0.7."""
SHINGLE = 2
"""Words per shingle. Texts on one topic share single words, and few edits destroy longer shingles."""
_SEED = 7
"""Seed of the stored sketches; another seed or algorithm needs a rebuild of the sketches in the log."""


Sketch = tuple[int, ...]
"""MinHash signature of a text: the 32-bit minimum of each permutation."""


@dataclass(frozen=True, slots=True)
class FreeText:
    """Result of the analysis of a text."""

    tokens: int
    """Number of words; in scripts without spaces, of characters."""
    is_free: bool
    """True for free text: prose of at least `MIN_TOKENS` tokens."""
    sketch: Sketch | None
    """Sketch of a free text; None for any other text."""


def analyze_text(text: str) -> FreeText:
    """Return the number of tokens of a text, whether it is free text, and its sketch.

    Reads the first `MAX_READ` characters.
    """
    raw = text[:MAX_READ]
    plain = confusable_skeleton(raw)[:MAX_READ]
    tokens = tokenize(plain)
    letters = [each for each in tokens if len(each) == 1 and each.isalpha() and not re.match(_UNSPACED_TOKEN, each)]
    if 2 * len(letters) > len(tokens):
        plain = re.sub(_SPACED_WORD, _join_letters, plain)
        tokens = tokenize(plain)
    is_free = len(tokens) >= MIN_TOKENS and _is_prose(raw, plain, tokens)
    return FreeText(len(tokens), is_free, compute_sketch(tokens) if is_free else None)


def tokenize(plain: str) -> list[str]:
    """Return the words of a normalised text; in scripts without spaces, its characters."""
    return re.findall(_TOKEN, plain)


def _join_letters(word: re.Match[str]) -> str:
    spaced: str = word[0]
    return spaced if len(spaced) >= 2 * _LONGEST_WORD else spaced.replace(word[1], "")


def _is_prose(raw: str, plain: str, tokens: Sequence[str]) -> bool:
    words = analyze_wording(raw, plain, tokens, _MIN_PROSE_SHARE)
    if words.is_prose or words.is_list:
        return words.is_prose
    if _has_sentences(plain, len(tokens)):
        return True
    return words.may_be_prose and any(
        _is_varied(_prose_clauses(clauses), len(tokens)) for clauses in _clause_splits(plain)
    )


def _has_sentences(plain: str, tokens: int) -> bool:
    """Return whether enough words belong to sentences; a short sentence with a number is a label."""
    found = 0
    for sentence in _SENTENCE_END.split(plain)[:-1]:
        words = [token for token in tokenize(sentence) if not token.isdecimal()]
        numbered = len(words) < len(tokenize(sentence))
        if _length(words) >= (_NUMBERED_SENTENCE if numbered else _SENTENCE) and _is_sentence(sentence, words):
            found += len(words)
    return found >= max(_MIN_PROSE, _MIN_PROSE_SHARE * tokens)


def _is_sentence(sentence: str, words: Sequence[str]) -> bool:
    """Return whether most words differ and few marks separate them, unlike in a list."""
    different = len(set(words)) >= _MIN_DIFFERENT * len(words)
    return different and len(_CLAUSE.findall(sentence)) * _CLAUSE_WORDS <= len(words)


def _clause_splits(plain: str) -> Iterator[Iterator[tuple[str, float]]]:
    """Yield the clauses under each interpretation of line breaks.

    In the first, each line break ends a clause; in the second, none does. In the third, which needs wrapped paragraphs,
    only the ends of paragraphs and unwrapped lines do.
    """
    lines = plain.split("\n")
    yield _clauses_by_line(lines)
    yield _sentence_clauses(plain)
    if len(unwrapped := list(_unwrap(lines))) < len(lines):
        yield _clauses_by_line(unwrapped)


def _is_varied(prose: Sequence[Sequence[str]], tokens: int) -> bool:
    if sum(map(len, prose)) < max(_MIN_PROSE, _MIN_PROSE_SHARE * tokens):
        return False
    pairs = [pair for clause in prose for pair in pairwise(clause)][:_VARIETY_SAMPLE]
    return len(set(pairs)) >= _MIN_VARIETY * len(pairs)


def _prose_clauses(clauses: Iterator[tuple[str, float]]) -> list[tuple[str, ...]]:
    """Return the words of each distinct clause that has its minimum of words."""
    found: dict[tuple[str, ...], None] = {}
    for clause, minimum in clauses:
        words = tuple(token for token in tokenize(clause) if not token.isdecimal())
        if _length(words) >= minimum:
            found[words] = None
    return list(found)


def _unwrap(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, with each wrapped paragraph joined into one line."""
    for blank, block in groupby(lines, key=lambda line: not line.strip()):
        paragraph = [line.strip() for line in block]
        if not blank and _is_wrapped(paragraph):
            yield " ".join(paragraph)
        else:
            yield from paragraph


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether the lines are one wrapped paragraph.

    Then the first word of each line would not have fitted at the end of the line before. Few lines, columns, and lines
    of nearly equal width do not count as wrapped.
    """
    if len(lines) < _MIN_WRAPPED_LINES or any("  " in line or "\t" in line for line in lines):
        return False
    widths = [len(line) for line in lines[:-1]]
    widest = max(widths)
    if widest - min(widths) < _MIN_RAGGED or sum(line.count(" ") for line in lines) < 2 * len(lines):
        return False
    firsts = [line.partition(" ")[0] for line in lines[1:]]
    return all(width + 1 + len(first) > widest for width, first in zip(widths, firsts, strict=True))


def _clauses_by_line(lines: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Yield each clause with the number of words it needs to be prose; line breaks end clauses."""
    for line in lines:
        clauses = _CLAUSE.split(line.strip())
        bare = len(clauses) == 1
        for clause in clauses:
            yield clause, _BARE_LINE_WORDS if bare else _CLAUSE_WORDS


def _sentence_clauses(plain: str) -> Iterator[tuple[str, float]]:
    """Yield each sentence with the number of words it needs to be prose, regardless of line breaks."""
    for sentence in _SENTENCE_END.split(plain)[:-1]:
        clauses = [clause for clause in _CLAUSE.split(sentence.replace("\t", " ")) if clause.strip()]
        yield sentence, _CLAUSE_WORDS * max(1.0, 0.6 * len(clauses))


def _length(words: Sequence[str]) -> float:
    return sum(_WORDS_PER_CHARACTER if re.match(_UNSPACED_TOKEN, word) else 1.0 for word in words)


def compute_sketch(tokens: Sequence[str]) -> Sketch:
    """Return the MinHash sketch of a text's shingles, which are runs of `SHINGLE` tokens.

    There must be at least `SHINGLE` tokens.
    """
    shingles = {" ".join(tokens[at : at + SHINGLE]) for at in range(len(tokens) - SHINGLE + 1)}
    minhash = RMinHash(num_perm=PERMUTATIONS, seed=_SEED)
    minhash.update(list(shingles))
    return tuple(minhash.digest())


def estimate_similarity(left: Sketch, right: Sketch) -> float:
    """Return the Jaccard similarity of two texts' shingles in [0, 1], estimated from their sketches."""
    pairs = zip(left, right, strict=True)
    return sum(here == there for here, there in pairs) / len(left)


def sketch_bands(sketch: Sketch) -> tuple[str, ...]:
    """Return the bands of a sketch as text: `ROWS` minima each, prefixed with the band's number.

    Two texts with an equal band are candidates for comparison.
    """
    rows = [sketch[band * ROWS : (band + 1) * ROWS] for band in range(BANDS)]
    return tuple(f"{band}:{'.'.join(map(str, row))}" for band, row in enumerate(rows))


def encode_sketch(sketch: Sketch) -> str:
    """Return the sketch as Base64 of its big-endian 32-bit minima."""
    return b64encode(pack(f">{len(sketch)}I", *sketch)).decode()


def decode_sketch(text: str) -> Sketch:
    """Return the sketch from the text that `encode_sketch` returned."""
    content = b64decode(text, validate=True)
    return unpack(f">{len(content) // 4}I", content)
