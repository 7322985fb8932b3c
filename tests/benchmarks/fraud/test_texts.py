"""The texts that stories are told with."""

import re
from itertools import combinations, pairwise
from random import Random

import pytest

from tests.benchmarks.fraud.edits import EDITS, Edit
from tests.benchmarks.fraud.language import LANGUAGES, Writer, paragraphs

_MARKS = "\u0300-\u036f\u0900-\u0963"


def words(text: str, blank: str) -> list[str]:
    """With their marks; in Chinese the characters."""
    return re.findall(rf"[\w{_MARKS}]+" if blank else r"\w", text.lower())


def pairs(text: str, blank: str) -> set[tuple[str, str]]:
    found = words(text, blank)
    return set(pairwise(found))


def likeness(one: str, other: str, blank: str) -> float:
    ours, theirs = pairs(one, blank), pairs(other, blank)
    return len(ours & theirs) / len(ours | theirs)


@pytest.mark.parametrize("code", LANGUAGES)
def test_texts_on_one_topic_are_about_as_unlike_as_those_of_two_people(code: str) -> None:
    writer = Writer(Random(7), code)
    for topic in writer.bank.topics:
        texts = [writer.text(150, topic) for _ in range(6)]
        assert max(likeness(*each, writer.bank.blank) for each in combinations(texts, 2)) < 0.2


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_text_is_about_as_long_as_was_ordered(code: str) -> None:
    writer = Writer(Random(8), code)
    size = len(words(writer.text(300), writer.bank.blank)) / (1 if writer.bank.blank else 2)
    assert 150 < size < 450


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_is_to_be_named_is_named(code: str) -> None:
    writer = Writer(Random(9), code)
    topic = writer.topic()
    terms = writer.terms(topic, 6)
    text = writer.text(40, topic, terms).lower()
    assert [term for term in terms if term.lower() not in text] == []


def test_there_is_prose_to_quote_in_every_language() -> None:
    assert all(len(paragraphs(code)) >= 2 for code in LANGUAGES)


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_disguised_text_is_another_one_and_still_most_of_it(edit: Edit, code: str) -> None:
    writer = Writer(Random(10), code)
    text = writer.text(200)
    changed = edit(text, writer, Random(11))
    assert changed != text
    assert 0.7 * len(text) < len(re.sub("[\u200b\u2060\u00ad\ufeff\u0300-\u036f]", "", changed)) < 1.4 * len(text)
