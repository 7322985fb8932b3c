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


def flag_of(
    text: str | None, rouge_l: float | None = None, bleu: float | None = None, read: FreeText | None = None
) -> Flag | None:
    history = {"text": read or (read_text(text) if text else None)}
    similarity = {"rouge_l": rouge_l, "bleu": bleu}
    return RULE.check(case(history=history, output_text=text, reference_similarity=similarity), THRESHOLDS)


@pytest.mark.parametrize(("rouge_l", "bleu"), [(1.0, 1.0), (0.93, 0.7), (0.6, 0.92), (0.9, None), (None, 0.8)])
def test_a_long_text_that_is_nearly_the_reference_is_held(rouge_l: float | None, bleu: float | None) -> None:
    flag = flag_of(PROSE, rouge_l, bleu)
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert (flag.evidence["rouge_l"], flag.evidence["bleu"]) == (rouge_l, bleu)
    assert flag.evidence["tokens"] == 42
    assert flag.evidence["excerpt"] == PROSE[:200]


@pytest.mark.parametrize(("rouge_l", "bleu"), [(0.85, 0.75), (0.0, 0.0), (None, None)])
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


def test_a_likeness_without_a_text_is_no_pass() -> None:
    assert flag_of(None, 0.99, 0.99) is not None


def test_what_verification_did_not_compare_is_left_alone() -> None:
    assert RULE.check(case(output_text=PROSE, history={"text": read_text(PROSE)}), THRESHOLDS) is None


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 100))
def test_a_greater_likeness_never_helps(rouge_l: float, bleu: float, more: float, tokens: int) -> None:
    read = FreeText(tokens, is_free=False, sketch=None)
    if flag_of(PROSE, rouge_l, bleu, read) is not None:
        assert flag_of(PROSE, min(rouge_l + more, 1), bleu, read) is not None
        assert flag_of(PROSE, rouge_l, min(bleu + more, 1), read) is not None
