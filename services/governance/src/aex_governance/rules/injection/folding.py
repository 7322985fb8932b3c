"""A text as a reader takes it in: case, width, accents, invisible characters and look-alike letters evened out.

Each character is folded by itself, so that a place in the folded text leads back to the original. Look-alikes and
digits for letters are replaced one to one inside words that mix them with letters; other words are left as they are.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import unescape
from itertools import accumulate
from typing import Any

import re2

_LETTERS = {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe", "ँ": "ं", "़": "", "ـ": ""}
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɡɑɩ", "abcdefghijklmnoprstuvwyzgai", strict=True))
_LOOKALIKES = str.maketrans("авгсеѕіјкмнопртухһԁԛԝьӏαβγεηικνορτυχωσπμ", "abrcesijkmhonptyxhdqwblabyenikvoptuxwonu")
_DIGITS = str.maketrans("013457@$!", "oieastasi")
_QUOTES = {"‘": "'", "’": "'", "‛": "'", "′": "'", "″": '"', "‟": '"', "﹁": "「", "﹂": "」"}


class _Folds(dict[int, str]):
    """Character by character, worked out when first met. One for each text, so that none outlives it."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded(chr(code))
        return folded


def _folded(char: str) -> str:
    if char in _QUOTES:
        return _QUOTES[char]
    code = ord(char)
    if 0x1F1E6 <= code <= 0x1F1FF:  # letters of flags
        return chr(code - 0x1F1E6 + ord("a"))
    if 0x1F150 <= code <= 0x1F189 and (code - 0x1F150) % 32 < 26:  # white letters on black
        return chr((code - 0x1F150) % 32 + ord("a"))
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(_LETTERS.get(part, _SMALL_CAPITALS.get(part, part)) for part in parts if not _is_unseen(part))


def _is_unseen(char: str) -> bool:
    code = ord(char)
    if char in "\u115f\u1160\u3164\uffa0" or 0x0300 <= code <= 0x036F or 0x064B <= code <= 0x065F or code == 0x0670:
        return True
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180D:
        return True
    return unicodedata.category(char) in {"Cf", "Cs"}


def folded_words(word: str) -> str:
    """A short text folded like every text: for the lexicon."""
    return word.translate(_Folds())


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text that knows its original."""

    text: str
    origin: Callable[[int], int]
    """From a place in the folded text to the place in the original."""


def fold(original: str, known: Callable[[str], bool] = bool) -> Folded:
    """The whole text, with look-alikes replaced; as long as the original but for what folds away or apart.

    `known` tells words apart where a letter looks like two (the Cyrillic u, like y and u).
    """
    folds = _Folds()
    plain = _replaced(original.translate(folds), _mixed(), lambda word: _latin(word, known))
    text = _replaced(plain, _spelt(), lambda word: _spelled(word, known))

    @cache
    def ends() -> list[int]:
        return list(accumulate(len(folds[ord(char)]) for char in original))

    return Folded(text, lambda place: min(bisect_right(ends(), place), max(0, len(original) - 1)))


def unescaped(original: str) -> str | None:
    """The text with HTML's character references read; None where it has none of them."""
    return unescape(original) if "&#" in original else None


@cache
def _mixed() -> Any:
    both = "(?:[a-z][\u0370-\u04ff\u0500-\u052f]|[\u0370-\u04ff\u0500-\u052f][a-z])"
    return re2.compile(f"[a-z\u0370-\u052f]*{both}[a-z\u0370-\u052f]*")


@cache
def _spelt() -> Any:
    return re2.compile(
        r"[a-z]+(?:!+[a-z]|[013457@$])(?:[a-z0-9@$!]*[a-z0-9@$])?|[013457@$]+[a-z][a-z0-9@$!]*[a-z0-9@$]"
    )


def _latin(word: str, known: Callable[[str], bool]) -> str:
    likely = word.translate(_LOOKALIKES)
    other = word.replace("у", "u").translate(_LOOKALIKES)
    return other if other != likely and known(other) and not known(likely) else likely


def _spelled(word: str, known: Callable[[str], bool]) -> str:
    """Digits for letters ("1gnore"); but "@grader" calls somebody."""
    called = word[0] == "@" and word[1:].isalpha() and known(word[1:]) and not known(word.translate(_DIGITS))
    return word if called else word.translate(_DIGITS)


def _replaced(text: str, words: Any, spelt: Callable[[str], str]) -> str:
    pieces: list[str] = []
    done = 0
    for found in words.finditer(text):
        word = found.group()
        # Two characters are a name (a1, x0) sooner than a disguise.
        pieces += (text[done : found.start()], spelt(word) if len(word) > 2 or word.isalpha() else word)
        done = found.end()
    return "".join((*pieces, text[done:])) if done else text
