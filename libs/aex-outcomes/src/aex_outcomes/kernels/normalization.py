"""Normalisation of texts for search and comparison, and division into words in any script.

Normalised texts are in NFKC and case-folded. In scripts without spaces each character is a word. Of a run of combining
characters the first 30 are kept, more than any writing has (UAX #15, stream-safe text). NFKC takes time quadratic in
the length of such a run. It turns one character into up to 18, so that callers limit the length of the result.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

_NON_LETTER = re.compile(r"\W")
_MAX_EXPANSION = 18
"""Maximum of characters that NFKC makes of one."""
_PIECE = 50_000
_LONGEST_RUN = 30
"""Combining characters in a row that are kept; further ones are dropped, in texts and in terms."""
_HIDDEN_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that are not combining, but that NFKC expands to combining ones only."""
_INVISIBLE = {"Cf": "", "Cc": " "}
"""Format characters (soft hyphens, joiners, zero-width blanks) are dropped; control characters become blanks."""
_ASCII = "".join(map(chr, range(128)))
_FEW_CHARACTERS = 40
"""Number of characters up to which `str.replace` for each is faster than `str.translate`."""


class NormalizedTooLong(ValueError):
    """Error for a text that is longer than the caller's limit after normalisation."""


def normalize(text: str, allowed_length: int | None) -> str:
    """Return the text in NFKC, case-folded, with at most 30 combining characters in a row.

    Raises `NormalizedTooLong` if the result has more than `allowed_length` code points; None sets no limit.
    """
    safe = _stream_safe(text)
    if allowed_length is not None and not safe.isascii() and len(safe) * _MAX_EXPANSION > allowed_length:
        left = allowed_length
        for start in range(0, len(safe), _PIECE):  # in pieces, so that the memory for expanded text is bounded
            left -= len(unicodedata.normalize("NFKC", safe[start : start + _PIECE]))
            if left < 0:
                raise NormalizedTooLong(f"normalised, the text has more than {allowed_length} characters")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", safe).casefold())


def _stream_safe(text: str) -> str:
    """Keep the first 30 characters of each run of combining characters, in linear time."""
    if text.isascii():
        return text
    marks = [each for each in _NON_LETTER.findall(distinct_characters(text)) if unicodedata.combining(each)]
    marks += [each for each in _HIDDEN_MARKS if each in text]
    if not marks:
        return text
    mark = f"[{''.join(map(re.escape, marks))}]"
    # A set in front, not a repeat: re finds the first mark faster.
    return re.sub(f"({mark}{mark}{{{_LONGEST_RUN - 1}}}){mark}+", r"\1", text)


def strip_invisible(text: str) -> str:
    """Drop invisible format characters, and replace control characters other than line feeds by blanks."""
    return replace_characters(
        text, map_invisible_to_replacements(select_non_word_characters(distinct_characters(text)))
    )


def map_invisible_to_replacements(characters: Iterable[str]) -> dict[str, str]:
    """Return the replacement of each invisible one of these characters; line feeds are left out.

    Format characters are replaced by nothing, control characters by a blank.
    """
    kinds = {each: unicodedata.category(each) for each in characters if each != "\n"}
    return {each: _INVISIBLE[kind] for each, kind in kinds.items() if kind in _INVISIBLE}


def select_non_word_characters(characters: str) -> list[str]:
    """Return those of the characters that are no letter, digit or underscore."""
    return _NON_LETTER.findall(characters)


def distinct_characters(text: str) -> str:
    """Return the different characters of a text, each once, in no particular order."""
    return "".join(filter(text.__contains__, _ASCII) if text.isascii() else set(text))


def replace_characters(text: str, replacements: Mapping[str, str]) -> str:
    """Replace each character that is a key of `replacements`; no replacement may contain another key."""
    if len(replacements) > _FEW_CHARACTERS:
        return text.translate({ord(character): replacement for character, replacement in replacements.items()})
    for character, replacement in replacements.items():
        text = text.replace(character, replacement)
    return text


def is_combining_mark(character: str) -> bool:
    """Return True for a combining mark, such as an accent: it belongs to the word around it."""
    return unicodedata.category(character)[0] == "M"


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


def split_words(text: str, allowed_length: int | None = None) -> list[str]:
    """Return the normalised words of the text; in scripts without spaces, each character is a word.

    Raises `NormalizedTooLong` if the text has more than `allowed_length` code points after normalisation.
    """
    return _separate_words(normalize(text, allowed_length)).split()


def split_clauses(text: str) -> list[list[str]]:
    """Return the normalised words of each clause that has any.

    Ends of lines, punctuation and symbols end a clause; hyphens and apostrophes do not.
    """
    return [words for clause in _separate_words(normalize(text, None)).split("\n") if (words := clause.split())]


def _separate_words(text: str) -> str:
    """Replace the characters between words: by line feeds where a clause ends, by blanks elsewhere."""
    characters = distinct_characters(text)
    others = [
        each for each in select_non_word_characters(characters) if not (each.isspace() or is_combining_mark(each))
    ]
    table = {each: f" {each} " for each in UNSPACED_CHARACTER.findall(characters)}
    table |= {each: " " if each in _WITHIN_CLAUSES else "\n" for each in others}
    return replace_characters(text, table | map_invisible_to_replacements(others))
