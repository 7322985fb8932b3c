"""The hidden reference, handed in; correct short answers and lists are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.config import load_rules
from aex_governance.rules.reference_copy import RULE
from aex_governance.rules.text import FreeText, read_text
from aex_models.governance import Action, Flag
from tests.services.governance.asking import case

THRESHOLDS = load_rules()[RULE.name].thresholds
PROSE = (
    "The council met on Tuesday to discuss the new bridge over the river, whose cost has risen by a third since March. "
    "Members from both banks asked for a second opinion before any contract is signed, and the mayor agreed to wait."
)
RUSSIAN = (
    "В 2023 году выручка компании выросла на 15 процентов, а прибыль осталась прежней, сообщил директор. "
    "Совет одобрил план на 2024 год, по которому откроются три новых завода, и назначил выплаты на июнь."
)
LABELS = ", ".join(["positive", "negative", "very positive", "neutral"] * 20)
TABLE = "\n".join(f"row {n} | {n * n} | {n * 3} | ok" for n in range(30))


CHINESE_PROSE = (
    "市议会星期二开会讨论河上的新桥，自三月以来造价已经上涨了三分之一，两岸的议员要求再征求一次意见，市长同意等待。"
)
CHINESE_LABELS = "、".join(["正面评价", "负面评价", "中性"] * 20)


def flag_of(
    text: str | None,
    rouge_l: float | None = None,
    bleu: float | None = None,
    read: FreeText | None = None,
    likeness: float | None = None,
) -> Flag | None:
    history = {"text": read or (read_text(text) if text else None)}
    similarity = {"rouge_l": rouge_l, "bleu": bleu, "likeness": likeness}
    return RULE.check(case(history=history, output_text=text, reference_similarity=similarity), THRESHOLDS)


@pytest.mark.parametrize(("rouge_l", "bleu"), [(1.0, 1.0), (0.93, 0.7), (0.6, 0.92), (0.9, None), (None, 0.8)])
def test_a_long_text_that_is_nearly_the_reference_is_held(rouge_l: float | None, bleu: float | None) -> None:
    flag = flag_of(PROSE, rouge_l, bleu)
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert (flag.evidence["rouge_l"], flag.evidence["bleu"]) == (rouge_l, bleu)
    assert flag.evidence["tokens"] == 42
    assert flag.evidence["excerpt"] == PROSE[:200]


@pytest.mark.parametrize(("rouge_l", "bleu"), [(0.84, 0.74), (0.0, 0.0), (None, None)])
def test_a_good_answer_in_other_words_is_left_alone(rouge_l: float | None, bleu: float | None) -> None:
    assert flag_of(PROSE, rouge_l, bleu) is None


@pytest.mark.parametrize(
    "text", ["Paris", "The river Elbe rises in the Giant Mountains.", " ".join(PROSE.split()[:29])]
)
def test_a_short_answer_that_equals_the_reference_is_correct(text: str) -> None:
    assert flag_of(text, 1.0, 1.0) is None


def test_thirty_words_are_long_enough() -> None:
    assert flag_of(" ".join(PROSE.split()[:30]), 1.0, 1.0) is not None


@pytest.mark.parametrize(
    "text",
    [LABELS, LABELS.replace(", ", "\n"), TABLE, " ".join(str(n * 7) for n in range(60)), '{"label": "spam"}, ' * 20],
    ids=["labels", "lines", "table", "numbers", "json"],
)
def test_correct_labels_and_data_equal_the_reference_and_are_no_copy(text: str) -> None:
    assert flag_of(text, 1.0, 1.0) is None


def test_rouge_l_of_another_script_sees_numbers_alone_and_does_not_count() -> None:
    assert flag_of(RUSSIAN, 1.0, 0.02) is None
    assert flag_of(RUSSIAN, 1.0, 1.0) is not None


@pytest.mark.parametrize("text", [PROSE, RUSSIAN, CHINESE_PROSE], ids=["english", "russian", "chinese"])
def test_words_that_follow_each_other_as_in_the_reference_are_a_copy_in_any_script(text: str) -> None:
    flag = flag_of(text, 0.0, 0.0, likeness=0.85)
    assert flag is not None
    assert (flag.evidence["likeness"], flag.evidence["min_likeness"]) == (0.85, 0.85)
    assert flag.message.endswith("by likeness")
    assert flag_of(text, 0.0, 0.0, likeness=0.84) is None
    assert flag_of(text, 0.0, 0.0) is None


@pytest.mark.parametrize("text", [LABELS, TABLE, CHINESE_LABELS], ids=["labels", "table", "chinese"])
def test_correct_labels_are_no_copy_by_that_figure_either(text: str) -> None:
    assert flag_of(text, 1.0, 1.0, likeness=1.0) is None


WORDS = PROSE.split()
CITIES = (
    "Lisbon Porto Madrid Paris Lyon Berlin Hamburg Vienna Prague Warsaw Rome Milan Naples Athens Oslo Bergen Tampere"
)
NAMES = (
    f"{CITIES} Malmö Riga Tallinn Vilnius Minsk Kyiv Odesa Sofia Varna Bucharest Cluj Zagreb Split Ljubljana Graz Linz"
)


@pytest.mark.parametrize("joint", [", ", "; ", " | ", "\n", " ) ( ", ". "])
@pytest.mark.parametrize("each", [1, 3])
def test_marks_between_the_words_make_no_list_of_a_copy(joint: str, each: int) -> None:
    rows = [" ".join(WORDS[start : start + each]) for start in range(0, len(WORDS), each)]
    assert flag_of(joint.join(rows), 1.0, 1.0) is not None


@pytest.mark.parametrize(
    "text",
    [
        "positive negative neutral " * 20,
        " ".join(f"class{place * 7 % 12}" for place in range(70)),
        "tabby siamese persian ragdoll birman sphynx burmese manx korat bombay somali toyger " * 6,
        ", ".join(NAMES.split()),
        "\n".join(f"{place},{name},ok" for place, name in enumerate(NAMES.split())),
        " ".join(f"Ticket {place} is {'spam' if place % 3 else 'ham'}." for place in range(40)),
    ],
    ids=["three", "classes", "breeds", "cities", "csv", "sentences"],
)
def test_rows_of_labels_and_lists_of_names_are_correct_however_they_are_joined(text: str) -> None:
    assert flag_of(text, 1.0, 1.0, likeness=1.0) is None


@pytest.mark.parametrize("text", ["是", "Нет, это не так.", "河上的新桥"])
def test_nor_is_a_short_answer(text: str) -> None:
    assert flag_of(text, 1.0, 1.0, likeness=1.0) is None


def test_a_likeness_without_a_text_is_no_pass() -> None:
    assert flag_of(None, 0.99, 0.99) is not None
    assert flag_of(None, likeness=0.99) is not None


def test_what_verification_did_not_compare_is_left_alone() -> None:
    assert RULE.check(case(output_text=PROSE, history={"text": read_text(PROSE)}), THRESHOLDS) is None


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 100))
def test_a_greater_likeness_never_helps(rouge_l: float, bleu: float, more: float, tokens: int) -> None:
    read = FreeText(tokens, is_free=False, sketch=None)
    if flag_of(PROSE, rouge_l, bleu, read) is not None:
        assert flag_of(PROSE, min(rouge_l + more, 1), bleu, read) is not None
        assert flag_of(PROSE, rouge_l, min(bleu + more, 1), read) is not None
        assert flag_of(PROSE, rouge_l, bleu, read, more) is not None
