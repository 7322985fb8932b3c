"""Recognition of free text, and equal sketches of disguised texts."""

import re
import textwrap
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.text.free_text import MAX_READ, read_text, similarity, tokenize
from aex_governance.text.normalization import confusable_skeleton
from tests.services.governance.text.honest_lists import LISTS
from tests.services.governance.text.prose_forms import FORMS
from tests.services.governance.texts import CHINESE, OTHER, PROSE

GERMAN = (
    "Die Sitzung begann um neun Uhr, obwohl einige Teilnehmer noch fehlten. Zuerst wurde das Protokoll der letzten "
    "Sitzung genehmigt, danach sprach die Leiterin über die Pläne für das nächste Jahr. Besonders umstritten war der "
    "Vorschlag, das alte Gebäude zu verkaufen und stattdessen neue Räume am Stadtrand zu mieten, weil der Weg länger "
    "würde."
)
HINDI = (
    "कल की बैठक में नई योजना पर लंबी चर्चा हुई। सभी सदस्यों ने अपने विचार रखे और अंत में यह तय किया गया कि अगले महीने से काम शुरू "
    "होगा। इसके लिए हमें अधिक धन और समय की आवश्यकता होगी, इसलिए सरकार से सहायता माँगी जाएगी और स्थानीय लोगों को भी इसमें शामिल "
    "किया जाएगा।"
)
JAPANESE = (
    "昨日の会議では、新しい製品の発売日について長い議論がありました。営業部は来月の発売を希望していますが、"
    "開発部は品質を確認するためにもう少し時間が必要だと考えています。"
)
THAI = "เมื่อวานนี้ฉันไปตลาดกับแม่เพื่อซื้อผักและผลไม้สำหรับทำอาหารเย็น เราพบเพื่อนเก่าที่ไม่ได้เจอกันมานานหลายปีและคุยกันอย่างสนุกสนานจนลืมเวลา"
CODE = """def quicksort(items):
    if len(items) <= 1:
        return items
    pivot = items[len(items) // 2]
    left = [x for x in items if x < pivot]
    middle = [x for x in items if x == pivot]
    right = [x for x in items if x > pivot]
    return quicksort(left) + middle + quicksort(right)

def main():
    values = [3, 6, 8, 10, 1, 2, 1]
    for index, value in enumerate(values):
        print(index, quicksort(value))
"""
SQL = (
    "SELECT c.name, SUM(o.amount) AS total FROM customers c JOIN orders o ON o.customer_id = c.id "
    "WHERE o.created_at >= '2024-01-01' AND o.status = 'paid' AND c.country IN ('DE','FR','IT') "
    "GROUP BY c.name HAVING SUM(o.amount) > 1000 ORDER BY total DESC LIMIT 10"
)
TOPICS = ["sports", "politics", "science", "music", "travel", "food", "art", "health", "money", "law", "war", "cars"]
NAMES = ["Maria Schmidt", "John Smith", "Aiko Tanaka", "Wei Chen", "Olga Petrova"]
NOT_FREE = {
    "labels in sentences": "\n".join(f"Document {number} is about {topic}." for number, topic in enumerate(TOPICS * 4)),
    "labels in long sentences": "\n".join(
        f"Sentence {number}: the customer is {mood} with the product and {will} recommend it"
        for number, (mood, will) in enumerate([("happy", "would"), ("unhappy", "would not"), ("neutral", "might")] * 10)
    ),
    "Chinese labels": "、".join(["正面", "负面", "中性"] * 30),
    "Chinese addresses": "\n".join(["北京市朝阳区建国路88号", "广州市天河区体育西路", "深圳市南山区科技园"] * 4),
    "key and value": "\n".join(
        f"{key}: {key} of {name}" for name in NAMES for key in ("Street", "City", "Total", "Due")
    ),
    "code": CODE,
    "SQL": SQL,
    "a short answer": "The answer is yes, because the contract outcome_entry in March.",
    "nothing": "",
    "blanks": " \n\t" * 5_000,
}


@pytest.mark.parametrize("text", [PROSE, OTHER, GERMAN, HINDI, CHINESE, JAPANESE, THAI])
def test_prose_of_any_language_is_free_text(text: str) -> None:
    read = read_text(text)
    assert read.is_free
    assert read.tokens >= 50
    assert read.sketch is not None


@pytest.mark.parametrize("text", NOT_FREE.values(), ids=NOT_FREE)
def test_equal_correct_answers_are_not_free_text(text: str) -> None:
    read = read_text(text)
    assert not read.is_free
    assert read.sketch is None


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_prose_of_any_form_is_free_text(text: str) -> None:
    assert read_text(text).is_free


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_lists_with_any_separator_are_not_free_text(text: str) -> None:
    assert not read_text(text).is_free


def test_free_text_has_at_least_fifty_tokens() -> None:
    words = PROSE.split()
    assert not read_text(" ".join(words[:49])).is_free
    assert read_text(" ".join(words[:56])).is_free


@pytest.mark.parametrize("gap", ["\n", "  ", "\n\n", "\t \n", "\u2028", "\u00a0"])
def test_space_between_words_keeps_prose(gap: str) -> None:
    broken = read_text(gap.join(PROSE.split()))
    assert broken.is_free
    assert broken.sketch == read_text(PROSE).sketch


def unpunctuated(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s\u0900-\u097f\u0e00-\u0e7f]", " ", text).split())


@pytest.mark.parametrize("text", [PROSE, OTHER, GERMAN, HINDI, CHINESE, JAPANESE, THAI])
@pytest.mark.parametrize("width", [1_000_000, 72, 40])
def test_prose_without_punctuation_is_free_text(text: str, width: int) -> None:
    bare = read_text(textwrap.fill(unpunctuated(text), width))
    complete = read_text(text)
    assert bare.is_free
    assert bare.sketch is not None
    assert complete.sketch is not None
    assert similarity(bare.sketch, complete.sketch) > 0.8


@pytest.mark.parametrize("gap", [" ", "-", ".", "·", "_", "•"])
def test_spaced_letters_make_words(gap: str) -> None:
    spaced = "   ".join(gap.join(word) for word in unpunctuated(PROSE).split())
    assert read_text(spaced).sketch == read_text(PROSE).sketch


@pytest.mark.parametrize(
    "rows",
    [
        "\n".join(f"{number:>4} {name:<16} {number * 7:>6}" for number, name in enumerate(NAMES * 6)),
        " ".join("ABCD"[number % 4] for number in range(200)),
    ],
    ids=["a table in columns", "choices"],
)
def test_tables_and_single_letters_are_no_prose(rows: str) -> None:
    assert not read_text(rows).is_free


DISGUISES = {
    "case": PROSE.upper(),
    "punctuation": PROSE.replace(".", " !").replace(",", " –"),
    "Cyrillic letters": PROSE.translate(str.maketrans("aeocpx", "аеосрх")),
    "Greek letters": PROSE.translate(str.maketrans("ov", "ον")),
    "zero width": "\u200b".join(PROSE),
    "soft hyphens": "\u00ad".join(PROSE),
    "accents": "".join(f"{letter}\u0301" if letter.isalpha() else letter for letter in PROSE),
    "fillers": "".join(f"{letter}\u3164" if letter.isalpha() else letter for letter in PROSE),
    "bidirectional marks": f"\u202a{PROSE}\u202c",
}


@pytest.mark.parametrize("text", DISGUISES.values(), ids=DISGUISES)
def test_disguised_text_has_the_same_sketch(text: str) -> None:
    assert read_text(text).sketch == read_text(PROSE).sketch


def test_vowel_marks_do_not_separate_words() -> None:
    assert len(tokenize(confusable_skeleton("हिन्दी में लिखना"))) == 3


def test_characters_are_the_tokens_of_scripts_without_spaces() -> None:
    assert tokenize(confusable_skeleton("机器学习 2024 ok")) == ["机", "器", "学", "习", "2024", "ok"]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2_000_000,
        "a\u0301\u0323\u0345" * 100_000,
        "\u0323\u0301" * 100_000,
        "ﷺ" * 200_000,
        "a.b," * 100_000,
        "(" * 300_000,
    ],
    ids=["one word", "marks", "nothing but marks", "ligatures", "clauses", "brackets"],
)
def test_hostile_texts_are_read_in_time(text: str) -> None:
    began = time.process_time()
    read_text(text)
    assert time.process_time() - began < 5


UNITS = {
    "no ends": "word other thing ",
    "ends": ".",
    "spaced words": "w o r d  ",
    "dots and dashes": "a.b-c*",
    "wrapped lines": "ab cd ef gh\nab cd\n",
    "han": "收入",
    "ligatures": "ﷺ",
}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_reading_time_is_linear(unit: str) -> None:
    def took(size: int) -> float:
        text = (unit * size)[:size]
        spent = []
        for _ in range(3):
            began = time.thread_time()
            read_text(text)
            spent.append(time.thread_time() - began)
        return min(spent)

    assert took(MAX_READ) < 25 * took(MAX_READ // 8) + 0.02  # what grows with the square takes 64 times as long


def test_text_after_the_limit_is_not_read() -> None:
    assert read_text("word " * MAX_READ).tokens == MAX_READ // 5


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    read = read_text(text)
    assert read.is_free is (read.sketch is not None)
