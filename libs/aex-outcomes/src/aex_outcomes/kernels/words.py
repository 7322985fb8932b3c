"""The words of a text, in any script, as likeness is told by them.

Case, width and what cannot be seen make no difference (`kernels.folding`). Scripts that write no spaces have a word for
each character.
"""

import re

from aex_outcomes.kernels.folding import distinct, folded, is_mark, no_letters, replaced, unseen

_UNSPACED = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, ideographic zero
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA980, 0xA9FF),  # Javanese, Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B16F),  # Kana extensions
    (0x20000, 0x323AF),  # Han extensions
)
UNSPACED_CHARACTER = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _UNSPACED)}]")
_WITHIN_CLAUSES = frozenset(" -'\u2019\u2010\u2011")


def words_of(text: str, longest: int | None = None) -> list[str]:
    """The words of the text in their normalised form. Raises `UnfoldsTooFar` beyond `longest` code points."""
    return _words_alone(folded(text, longest)).split()


def clauses_of(text: str) -> list[list[str]]:
    """The same, clause by clause: each line and each mark ends one, but for marks that stand within words."""
    return [words for clause in _words_alone(folded(text, None)).split("\n") if (words := clause.split())]


def _words_alone(text: str) -> str:
    """Of a normalised text the words: line feeds where a clause ends, and any other white space between words."""
    characters = distinct(text)
    others = [each for each in no_letters(characters) if not (each.isspace() or is_mark(each))]
    table = {each: f" {each} " for each in UNSPACED_CHARACTER.findall(characters)}
    table |= {each: " " if each in _WITHIN_CLAUSES else "\n" for each in others}
    return replaced(text, table | unseen(others))
