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
_NAMES = 4
"""Names per text."""


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

    @property
    def nouns(self) -> list[str]:
        return [noun for nouns in self.topics.values() for noun in nouns]


@cache
def bank(code: str) -> Bank:
    loaded = yaml.safe_load(files(__package__).joinpath(f"languages/{code}.yaml").read_text(encoding="utf-8"))
    fixed: dict[str, Any] = {name: loaded.pop(name) for name in ("blank", "stops", "patterns", "topics")}
    fixed["topics"] = {topic: tuple(nouns.split("|")) for topic, nouns in fixed["topics"].items()}
    return Bank(code, words={name: tuple(found.split("|")) for name, found in loaded.items()}, **fixed)


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
        topic = topic or self.topic()
        names = [self.name() for _ in range(_NAMES)]
        last, made = "", []
        for index in range(count):
            pattern = self._random.choice([each for each in self.bank.patterns if each != last])
            last = pattern
            made.append(self._sentence(pattern, topic, names, naming[index : index + 1]))
        return made

    def text(self, words: int, topic: str | None = None, naming: Sequence[str] = ()) -> str:
        """Return about that many words (characters ÷ 2 in Chinese), in paragraphs."""
        per_sentence = 13
        return self.join(self.sentences(max(round(words / per_sentence), len(naming), 1), topic, naming))

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

    def _sentence(self, pattern: str, topic: str, names: Sequence[str], naming: Sequence[str]) -> str:
        named, made = list(naming), ""
        for literal, slot, _, _ in Formatter().parse(pattern):
            made += literal
            if slot == "noun":
                made += named.pop() if named else self._noun(topic)
            elif slot:
                made += self._word(slot, names)
        return made[:1].upper() + made[1:] + self._random.choice(self.bank.stops)

    def _noun(self, topic: str) -> str:
        on_topic = self._random.random() < _ON_TOPIC
        return self._random.choice(self.bank.topics[topic] if on_topic else self.bank.nouns)

    def _word(self, slot: str, names: Sequence[str]) -> str:
        match slot:
            case "name":
                return self._random.choice(names)
            case "year":
                return str(self._random.randint(1790, 2025))
            case "number":
                return str(self._random.randint(2, 97))
            case _:
                return self._random.choice(self.bank.words[f"{slot}s"])


Edit = Callable[[str, Writer, Random], str]
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[\u0300-\u036f\u0900-\u0963\u200c\u200d]+[^\W_]*)*")
_SENTENCE = re.compile(r"(?<=[.!?।])\s+|(?<=[。！？])\s*|\n+")
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


def repunctuate(text: str, writer: Writer, random: Random) -> str:
    del writer
    stop = random.choice([" ;", "...", " —", "!!", ""])
    return re.sub(r"[.!?,،;।]+(?=\s|$)|[。！？，]", stop + " ", text)


def homoglyphs(text: str, writer: Writer, random: Random) -> str:
    share = random.uniform(0.2, 1.0)
    changed = "".join(each.translate(_LOOKALIKES) if random.random() < share else each for each in text)
    return changed if changed != text else zero_width(text, writer, random)


def zero_width(text: str, writer: Writer, random: Random) -> str:
    del writer
    hidden, share = random.choice("\u200b\u2060\u00ad\ufeff"), random.uniform(0.05, 0.4)
    return "".join(each + hidden if each.isalpha() and random.random() < share else each for each in text)


def recompose(text: str, writer: Writer, random: Random) -> str:
    del writer
    blank = random.choice(["\u00a0", "  ", "\n", "\u2009"])
    return unicodedata.normalize(random.choice(["NFD", "NFKD"]), text).replace(" ", blank)


def add_paragraph(text: str, writer: Writer, random: Random) -> str:
    own = writer.join(writer.sentences(max(1, round(len(_sentences(text)) * random.uniform(0.08, 0.2)))))
    return f"{own}\n\n{text}" if random.random() < 0.5 else f"{text}\n\n{own}"


def several(text: str, writer: Writer, random: Random) -> str:
    text = replace_words(text, writer, random, random.uniform(0.02, 0.05))
    text = swap_sentences(text, writer, random)
    for edit in random.sample([recase, repunctuate, recompose], 2):
        text = edit(text, writer, random)
    return text


EDITS: Sequence[Edit] = (
    replace_words,
    swap_sentences,
    recase,
    repunctuate,
    homoglyphs,
    zero_width,
    recompose,
    add_paragraph,
    several,
)


def _sentences(text: str) -> list[str]:
    return [each for each in _SENTENCE.split(text) if each.strip()]
