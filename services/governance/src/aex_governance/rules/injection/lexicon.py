"""Words by what they do in an address to a reviewer, in all languages at once.

`lexicon/*.yaml`: a file for each language, class → words. `x*` begins with x, `*x*` contains x (compounds), several
words stand in this order; Chinese and Japanese words are found wherever they stand. A text may mix languages: classes,
not languages, are what the frames of `addressing` are made of.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

import re2

from aex_governance.rules.config_file import read_packaged
from aex_governance.rules.injection.folding import folded_words

CLASSES: Final = [
    "disregard",
    "disregard_final",
    "follow",
    "reference",
    "everything",
    "instructions",
    "matter",
    "grader",
    "machine",
    "award",
    "award_final",
    "highest",
    "score",
    "passing",
    "product",
    "this",
    "you",
    "must",
    "not",
    "if",
    "reporting",
    "check",
    "reveal",
    "attention",
    "end",
    "new",
    "void",
    "lead",
    "undo",
    "utter",
    "accepting",
    "regardless",
    "others",
    "rubric",
    "neutral",
    "whoever",
    "judging",
    "skip",
    "fault",
    # What whole sentences are weighed by, and nothing else: see `injection.sentences`.
    "onwards",
    "being",
    "lenient",
    "overlook",
    "gap",
    "vouched",
    "platform",
    "verdict",
    "fulfilled",
    "welcome",
    "thanks",
    "deem",
    "ought",
]
BIT: Final[Mapping[str, int]] = {name: 1 << place for place, name in enumerate(CLASSES)}
LANGUAGES: Final = ["ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "zh"]
LANGUAGE_BIT: Final[Mapping[str, int]] = {name: 1 << (len(CLASSES) + place) for place, name in enumerate(LANGUAGES)}
"""In which languages a word is one of the lexicon's."""
TRAITS: Final = sum(bit for name, bit in BIT.items() if CLASSES.index(name) >= CLASSES.index("onwards"))
"""The classes that whole sentences are weighed by: single words are looked at without them."""
WORD: Final = r"[\p{L}\p{M}][\p{L}\p{M}\p{N}]*|\p{N}+(?:[.,/:]\p{N}+)*%?"
SPACELESS: Final = r"[\p{Han}\p{Hiragana}\p{Katakana}ー\x{3099}\x{309a}]+"
_LEAST_STEM = 2
_PREFIXES = ("وال", "بال", "فال", "لل", "ال", "و", "ف", "ب", "ل", "ك")


@dataclass(frozen=True, slots=True)
class Phrase:
    """What follows a word to make a phrase; the last of it may be a beginning."""

    rest: tuple[str, ...]
    open_ended: bool
    mask: int


@dataclass(slots=True)
class Lexicon:
    """All words, by how they are matched."""

    exact: dict[str, int] = field(default_factory=dict)
    stems: dict[str, int] = field(default_factory=dict)
    contained: dict[str, int] = field(default_factory=dict)
    phrases: dict[str, list[Phrase]] = field(default_factory=dict)
    spaceless: dict[str, int] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)
    """By first character: length of the longest word without spaces around it."""

    @property
    def spellings(self) -> set[str]:
        """Every single word and stem."""
        return {*self.exact, *self.stems}

    def mask(self, word: str) -> int:
        """The classes of one folded word."""
        mask = self._plain(word)
        if "\u0600" <= word[0] <= "\u06ff":
            for prefix in _PREFIXES:
                if word.startswith(prefix) and len(word) > len(prefix) + 1:
                    mask |= self._plain(word[len(prefix) :])
        return mask

    def _plain(self, word: str) -> int:
        mask = self.exact.get(word, 0)
        for length in range(_LEAST_STEM, min(len(word), 24) + 1):
            mask |= self.stems.get(word[:length], 0)
        if len(word) > 5:
            for found in _alternatives().findall(word[:60]):
                mask |= self.contained[found]
        return mask


@cache
def _alternatives() -> Any:
    return re2.compile("|".join(map(re2.escape, lexicon().contained)))


@cache
def lexicon() -> Lexicon:
    """Read once, when first asked for."""
    whole = Lexicon()
    for language in LANGUAGES:
        content = read_packaged(files(__package__).joinpath("lexicon", f"{language}.yaml"))
        for name, words in content.items():
            for word in words:
                _add(whole, folded_words(word), BIT[name] if BIT[name] & TRAITS else BIT[name] | LANGUAGE_BIT[language])
    return whole


def _add(whole: Lexicon, entry: str, bit: int) -> None:
    tokens = list(_tokens(entry))
    if re2.fullmatch(SPACELESS, entry):
        whole.spaceless[entry] = whole.spaceless.get(entry, 0) | bit
        whole.longest[entry[0]] = max(whole.longest.get(entry[0], 0), len(entry))
    elif len(tokens) > 1:
        phrase = Phrase(tuple(tokens[1:]), entry.endswith("*"), bit)
        whole.phrases.setdefault(tokens[0], []).append(phrase)
    elif tokens:
        kind = whole.contained if entry.startswith("*") else whole.stems if entry.endswith("*") else whole.exact
        kind[tokens[0]] = kind.get(tokens[0], 0) | bit


def _tokens(entry: str) -> Iterator[str]:
    for found in re2.finditer(WORD, entry):
        yield found.group()
