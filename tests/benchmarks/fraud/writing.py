"""Seeded texts in six languages, and edits that disguise copies of them.

Word banks need no inflection. The texts are prose in form and nonsense in content, which suffices for rules that read
form alone. Each text has names, years and figures of its own.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from string import Formatter
from typing import Any

import yaml

LANGUAGES = ("en", "de", "fr", "es", "ru", "zh")
_ON_TOPIC = 0.7
"""Share of the nouns that belong to the topic."""


@dataclass(frozen=True, slots=True)
class Bank:
    """Words of one language."""

    code: str
    blank: str
    """Separator of words and sentences."""
    stops: Sequence[str]
    words: Mapping[str, Sequence[str]]
    patterns: Sequence[str]
    topics: Mapping[str, Sequence[str]]
    phrases: Mapping[str, Sequence[str]]
    """Parts of orders to a grader; none in Russian."""

    @property
    def nouns(self) -> list[str]:
        return [noun for nouns in self.topics.values() for noun in nouns]


def load_texts(name: str) -> Any:
    """Return the content of a YAML file of this package."""
    return yaml.safe_load(files(__package__).joinpath(name).read_text(encoding="utf-8"))


PASSAGES = load_texts("passages.yaml")


@cache
def bank(code: str) -> Bank:
    loaded = load_texts(f"languages/{code}.yaml")
    lists = {name: loaded.pop(name) for name in ("blank", "stops", "patterns")}
    topics, phrases = _split(loaded.pop("topics")), _split(loaded.pop("phrases", {}))
    return Bank(code, words=_split(loaded), topics=topics, phrases=phrases, **lists)


def _split(texts: Mapping[str, str]) -> dict[str, Sequence[str]]:
    return {name: tuple(text.split("|")) for name, text in texts.items()}


class Writer:
    """Generator of texts in one language."""

    def __init__(self, random: Random, code: str) -> None:
        self.bank = bank(code)
        self._random = random

    def topic(self) -> str:
        return self._random.choice(sorted(self.bank.topics))

    def terms(self, topic: str, count: int) -> list[str]:
        """Return nouns of a topic, none of them part of another."""
        nouns = self._random.sample(self.bank.topics[topic], len(self.bank.topics[topic]))
        apart = [noun for noun in nouns if not any(noun in other for other in nouns if other != noun)]
        return apart[:count]

    def sentences(self, count: int, topic: str | None = None, naming: Sequence[str] = ()) -> list[str]:
        """Return sentences on a topic; each of `naming` is the first noun of one, in order."""
        nouns = self.bank.topics[topic or self.topic()]
        own = {"names": [self.name() for _ in range(4)], "years": range(1790, 2026), "numbers": range(2, 98)}
        words = {**self.bank.words, **own}
        return [self._sentence(nouns, words, naming[index : index + 1]) for index in range(count)]

    def text(self, words: int, topic: str | None = None) -> str:
        """Return about that many words (characters ÷ 2 in Chinese), in paragraphs."""
        return self.join(self.sentences(max(round(words / 13), 1), topic))

    def join(self, sentences: Sequence[str]) -> str:
        """Return the sentences in paragraphs of three to six."""
        parts, rest = [], list(sentences)
        while rest:
            size = self._random.randint(3, 6)
            parts.append(self.bank.blank.join(rest[:size]))
            rest = rest[size:]
        return "\n\n".join(parts)

    def name(self) -> str:
        made = "".join(self._random.sample(self.bank.words["syllables"], self._random.randint(2, 3)))
        return made[:1].upper() + made[1:]

    def _sentence(self, nouns: Sequence[str], words: Mapping[str, Sequence[Any]], naming: Sequence[str]) -> str:
        named, made = list(naming), ""
        for literal, slot, _, _ in Formatter().parse(self._random.choice(self.bank.patterns)):
            made += literal
            if slot == "noun":
                on_topic = self._random.random() < _ON_TOPIC
                made += named.pop() if named else self._random.choice(nouns if on_topic else self.bank.nouns)
            elif slot:
                made += str(self._random.choice(words[f"{slot}s"]))
        return made[:1].upper() + made[1:] + self._random.choice(self.bank.stops)


Edit = Callable[[str, Writer, Random], str]
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")
_LOOKALIKES = str.maketrans("aceopxyABCEHKMOPTXасеорхуАВСЕНКМОРТХ", "асеорхуАВСЕНКМОРТХaceopxyABCEHKMOPTX")


def replace_words(text: str, writer: Writer, random: Random, share: float = 0.0) -> str:
    """Replace 3 to 10 % of the words, or `share` of them."""
    share = share or random.uniform(0.03, 0.10)
    spare = [word for kind in ("verbs", "adjectives") for word in writer.bank.words[kind] if " " not in word]
    matches = list(re.finditer(r"\w\w", text) if not writer.bank.blank else _WORD.finditer(text))
    chosen = random.sample(matches, max(1, int(share * len(matches))))
    for match in sorted(chosen, key=lambda found: -found.start()):
        word = random.choice(spare)
        word = word[: match.end() - match.start()] if not writer.bank.blank else word
        text = text[: match.start()] + word + text[match.end() :]
    return text


def swap_sentences(text: str, writer: Writer, random: Random) -> str:
    sentences = _sentences(text)
    random.shuffle(sentences)
    return writer.bank.blank.join(sentences)


def recase(text: str, writer: Writer, random: Random) -> str:
    changed = random.choice([str.upper, str.lower, str.title])(text)
    return changed if changed != text else repunctuate(text, writer, random)


def repunctuate(text: str, _: Writer, random: Random) -> str:
    stop = random.choice([" ;", "...", " —", "!!", ""])
    return re.sub(r"[.!?,;]+(?=\s|$)|[。！？，]", stop + " ", text)


def homoglyphs(text: str, writer: Writer, random: Random) -> str:
    share = random.uniform(0.2, 1.0)
    changed = "".join(each.translate(_LOOKALIKES) if random.random() < share else each for each in text)
    return changed if changed != text else zero_width(text, writer, random)


def zero_width(text: str, _: Writer, random: Random) -> str:
    hidden, share = random.choice("\u200b\u2060\u00ad\ufeff"), random.uniform(0.05, 0.4)
    return "".join(each + hidden if each.isalpha() and random.random() < share else each for each in text)


def recompose(text: str, _: Writer, random: Random) -> str:
    blank = random.choice(["\u00a0", "  ", "\n", "\u2009"])
    return unicodedata.normalize(random.choice(["NFD", "NFKD"]), text).replace(" ", blank)


def add_paragraph(text: str, writer: Writer, random: Random) -> str:
    own = writer.join(writer.sentences(max(1, round(len(_sentences(text)) * random.uniform(0.08, 0.2)))))
    return f"{own}\n\n{text}" if random.random() < 0.5 else f"{text}\n\n{own}"


EDITS = (replace_words, swap_sentences, recase, repunctuate, homoglyphs, zero_width, recompose, add_paragraph)


def _sentences(text: str) -> list[str]:
    return [each for each in _SENTENCE.split(text) if each.strip()]
