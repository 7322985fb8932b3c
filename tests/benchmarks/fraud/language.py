"""Texts to order, in eight languages: word banks and sentence patterns, and dice that decide.

The banks are chosen so that no word has to be inflected: nouns of one gender, adjectives and verbs that agree with
them, objects that look like subjects. What comes out is prose in form, and nonsense in content: rules about
likeness, lists and density read form alone. Each text has names, years and figures of its own, as real ones have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from string import Formatter
from typing import Any

import yaml

LANGUAGES = ("en", "de", "fr", "es", "ru", "zh", "ar", "hi")
_ON_TOPIC = 0.7
"""Share of the nouns that belong to the text's topic."""
_NAMES = 4
"""Different names in one text."""


@dataclass(frozen=True, slots=True)
class Bank:
    """The words of one language."""

    code: str
    blank: str
    """Between words and sentences."""
    stops: Sequence[str]
    words: Mapping[str, Sequence[str]]
    patterns: Sequence[str]
    topics: Mapping[str, Sequence[str]]

    @property
    def nouns(self) -> list[str]:
        """Those of all topics."""
        return [noun for nouns in self.topics.values() for noun in nouns]


@cache
def bank(code: str) -> Bank:
    """The bank of one of `LANGUAGES`."""
    loaded = yaml.safe_load(files(__package__).joinpath(f"languages/{code}.yaml").read_text(encoding="utf-8"))
    fixed: dict[str, Any] = {name: loaded.pop(name) for name in ("blank", "stops", "patterns", "topics")}
    fixed["topics"] = {topic: tuple(nouns.split("|")) for topic, nouns in fixed["topics"].items()}
    return Bank(code, words={name: tuple(found.split("|")) for name, found in loaded.items()}, **fixed)


@cache
def _common() -> Mapping[str, Sequence[str]]:
    """Paragraphs of ordinary prose by language, written for this project."""
    loaded: dict[str, list[str]] = yaml.safe_load(
        files(__package__).joinpath("languages/prose.yaml").read_text(encoding="utf-8")
    )
    return {code: [" ".join(each.split()) for each in paragraphs] for code, paragraphs in loaded.items()}


def paragraphs(code: str) -> Sequence[str]:
    """Ready paragraphs that texts of many authors may quote."""
    return _common()[code]


class Writer:
    """Writes one text after another, in one language."""

    def __init__(self, random: Random, code: str) -> None:
        self.bank = bank(code)
        self._random = random

    def topic(self) -> str:
        """Any of the language's."""
        return self._random.choice(sorted(self.bank.topics))

    def terms(self, topic: str, count: int) -> list[str]:
        """Nouns of a topic: what a text on it may be asked to name. None of them is part of another."""
        nouns = self._random.sample(self.bank.topics[topic], len(self.bank.topics[topic]))
        apart = [noun for noun in nouns if not any(noun in other for other in nouns if other != noun)]
        return apart[:count]

    def sentences(self, count: int, topic: str | None = None, naming: Sequence[str] = ()) -> list[str]:
        """That many sentences on a topic; each of `naming` is the first noun of one of them, in order."""
        topic = topic or self.topic()
        names = [self.name() for _ in range(_NAMES)]
        last, made = "", []
        for place in range(count):
            pattern = self._random.choice([each for each in self.bank.patterns if each != last])
            last = pattern
            made.append(self._sentence(pattern, topic, names, naming[place : place + 1]))
        return made

    def text(self, words: int, topic: str | None = None, naming: Sequence[str] = ()) -> str:
        """About that many words (characters ÷ 2 in Chinese), in paragraphs."""
        per_sentence = 13
        return self.joined(self.sentences(max(round(words / per_sentence), len(naming), 1), topic, naming))

    def joined(self, sentences: Sequence[str]) -> str:
        """The sentences in paragraphs of three to six."""
        parts, left = [], list(sentences)
        while left:
            size = self._random.randint(3, 6)
            parts.append(self.bank.blank.join(left[:size]))
            left = left[size:]
        return "\n\n".join(parts)

    def name(self) -> str:
        """A name that nobody has."""
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
