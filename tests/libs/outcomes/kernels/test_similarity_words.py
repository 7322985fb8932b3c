import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from aex_outcomes.kernels.normalization import split_words
from aex_outcomes.kernels.similarity import MAX_WORDS, ReferenceWords, word_similarity

ENGLISH = (
    "The council met on Tuesday to discuss the new bridge over the river, whose cost has risen by a third since March. "
    "Members from both banks asked for a second opinion before any contract is signed, and the mayor agreed to wait."
)
RUSSIAN = (
    "Совет собрался во вторник, чтобы обсудить новый мост через реку, стоимость которого с марта выросла на треть. "
    "Жители обоих берегов попросили ещё об одном заключении, прежде чем подписывать договор, и мэр согласился ждать."
)
CHINESE = (
    "市议会星期二开会讨论河上的新桥，自三月以来造价已经上涨了三分之一。"
    "两岸的议员要求在签合同之前再征求一次意见，市长同意等待。"
)
ARABIC = (
    "اجتمع المجلس يوم الثلاثاء لمناقشة الجسر الجديد فوق النهر الذي ارتفعت تكلفته بمقدار الثلث منذ مارس. "
    "طلب الأعضاء من كلتا الضفتين رأيا ثانيا قبل توقيع أي عقد ووافق رئيس البلدية على الانتظار حتى نهاية الشهر القادم."
)
HINDI = (
    "परिषद की बैठक मंगलवार को नदी पर बनने वाले नए पुल पर चर्चा करने के लिए हुई, जिसकी लागत मार्च से एक तिहाई बढ़ गई है। "
    "दोनों किनारों के सदस्यों ने किसी भी अनुबंध पर हस्ताक्षर से पहले दूसरी राय माँगी, और महापौर प्रतीक्षा करने को राज़ी हो गए।"
)
OTHERS = {
    ENGLISH: "A bakery is a clock that can be smelled: ovens are lit at two, and the first loaves leave at four. ",
    RUSSIAN: "Пекарня похожа на часы, которые пахнут хлебом: печи топят в два, первые буханки готовы к четырём. ",
    CHINESE: "面包房是一只能闻到的钟，凌晨两点生火，四点第一批面包出炉，街坊醒来时师傅已经想睡觉。",
    ARABIC: "المخبز ساعة يمكن شمها حيث تشعل الأفران عند الثانية وتخرج الأرغفة الأولى عند الرابعة صباحا. ",
    HINDI: "बेकरी एक ऐसी घड़ी है जिसे सूँघा जा सकता है, भट्ठियाँ दो बजे जलती हैं और पहली रोटियाँ चार बजे निकलती हैं। ",
}
SCRIPTS = pytest.mark.parametrize("reference", OTHERS, ids=["english", "russian", "chinese", "arabic", "hindi"])
LABELS = ("positive", "negative", "neutral", "mixed")
TEXTS = st.text(alphabet="ab é中 ,.\n", max_size=60)


def likeness(text: str, *references: str) -> float:
    return word_similarity(split_words(text), [ReferenceWords.parse(each) for each in references])


@SCRIPTS
def test_case_and_punctuation_make_no_difference_in_any_script(reference: str) -> None:
    plain = reference.upper().replace(", ", " — ").replace("，", " ").replace(".", "!!").replace("।", "\n\n")
    assert likeness(plain, reference) == 1


@SCRIPTS
@pytest.mark.parametrize("around", ["{0}{1}", "{1} {0}", "{0}{1} {0}"])
def test_complete_reference_within_other_text_is_a_copy(reference: str, around: str) -> None:
    assert likeness(around.format(OTHERS[reference] * 20, reference), reference) == 1


def test_reordered_or_interrupted_reference_is_a_copy() -> None:
    first, second = ENGLISH.split(". ")
    assert likeness(f"{OTHERS[ENGLISH] * 9}{second} {OTHERS[ENGLISH] * 9}{first}.", ENGLISH) > 0.95


@SCRIPTS
def test_changed_words_leave_a_copy_near_and_another_text_is_far(reference: str) -> None:
    assert likeness(OTHERS[reference] * 3, reference) < 0.3
    words = split_words(reference)
    changed = ["another" if place % 10 == 5 else word for place, word in enumerate(words)]
    assert 0.85 < word_similarity(changed, [ReferenceWords.parse(reference)]) < 0.95


def test_the_words_of_a_reference_scattered_over_a_long_text_are_no_copy() -> None:
    dice = random.Random(3)
    words = split_words(ENGLISH)
    scattered = [other for word in words for other in (word, *dice.choices(words, k=2))]
    assert likeness(" ".join(scattered), ENGLISH) < 0.6  # their common subsequence is the whole reference


@pytest.mark.parametrize(
    "labels",
    [
        ", ".join(LABELS * 12),
        "、".join(["正面评价", "负面", "中性"] * 20),
        " ".join(str(number * 7) for number in range(90)),
        "\n".join(f"row {number} | {number * number} | ok" for number in range(40)),
        '{"label": "spam", "score": 1}, ' * 20,
    ],
    ids=["commas", "chinese", "numbers", "table", "json"],
)
def test_right_labels_and_data_within_a_long_answer_are_no_copy(labels: str) -> None:
    explained = f"{OTHERS[ENGLISH] * 30}\n{labels}\n{OTHERS[ENGLISH] * 30}"
    assert likeness(explained, labels) < 0.5


def test_short_answer_within_a_longer_one_is_no_copy() -> None:
    short = "The council met on Tuesday to discuss the new bridge over the river."
    assert likeness(OTHERS[ENGLISH] * 5 + short, short) < 0.5


def test_nearest_reference_with_words_counts() -> None:
    assert likeness(ENGLISH, RUSSIAN, OTHERS[ENGLISH], ENGLISH, "") == 1
    for text, references in (("", [ENGLISH]), (ENGLISH, [RUSSIAN]), (ENGLISH, []), ("!?", ["!?"]), (ENGLISH, [""])):
        assert likeness(text, *references) == 0


@given(one=TEXTS, other=TEXTS)
def test_of_short_texts_it_is_the_f_measure_and_the_same_either_way(one: str, other: str) -> None:
    own, reference = split_words(one), split_words(other)
    shared = LCSseq.similarity(own, reference)
    expected = 2 * shared / (len(own) + len(reference)) if own and reference else 0
    assert likeness(one, other) == pytest.approx(expected)
    assert likeness(one, other) == likeness(other, one)


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "references"), [(5_000, 1), (300, 500)])
def test_no_text_and_no_number_of_references_takes_long(kinds: int, references: int) -> None:
    dice = random.Random(7)
    words = [f"w{number}" for number in range(kinds)]
    written = [" ".join(dice.choices(words, k=200_000 // references)) for _ in range(references)]
    started = time.process_time()
    assert likeness(" ".join(dice.choices(words, k=10 * MAX_WORDS)), *written) < 0.9
    assert time.process_time() - started < 15  # 1 to 2 s
