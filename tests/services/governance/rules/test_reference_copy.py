"""Copies of the hidden reference are held; correct short answers and lists are not."""

import pytest

from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.reference_copy import RULE
from aex_governance.text.free_text import analyze_text
from aex_models.governance import Action, Flag
from tests.services.governance.requests import case
from tests.services.governance.texts import CHINESE

THRESHOLDS = load_rule_configs()[RULE.name].thresholds
PROSE = (
    "The council met on Tuesday to discuss the new bridge over the river, whose cost has risen by a third since March. "
    "Members from both banks asked for a second opinion before any contract is signed, and the mayor agreed to wait."
)
RUSSIAN = (
    "В 2023 году выручка компании выросла на 15 процентов, а прибыль осталась прежней, сообщил директор. "
    "Совет одобрил план на 2024 год, по которому откроются три новых завода, и назначил выплаты на июнь."
)


def flag_of(
    text: str | None, rouge_l: float | None = None, bleu: float | None = None, likeness: float | None = None
) -> Flag | None:
    similarity = {"rouge_l": rouge_l, "bleu": bleu, "likeness": likeness}
    history = {"text": analyze_text(text) if text else None}
    return RULE.check(case(history=history, output_text=text, reference_similarity=similarity), THRESHOLDS)


@pytest.mark.parametrize(("rouge_l", "bleu"), [(1.0, 1.0), (0.93, 0.7), (0.6, 0.92), (0.9, None), (None, 0.8)])
def test_nearly_equal_long_text_is_held(rouge_l: float | None, bleu: float | None) -> None:
    flag = flag_of(PROSE, rouge_l, bleu)
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert (flag.evidence["rouge_l"], flag.evidence["bleu"]) == (rouge_l, bleu)
    assert flag.evidence["tokens"] == 42
    assert flag.evidence["excerpt"] == PROSE[:200]


@pytest.mark.parametrize(("rouge_l", "bleu"), [(0.84, 0.74), (0.0, 0.0), (None, None)])
def test_good_answer_in_other_words_is_honest(rouge_l: float | None, bleu: float | None) -> None:
    assert flag_of(PROSE, rouge_l, bleu) is None


def test_equal_answer_of_less_than_thirty_words_is_correct() -> None:
    assert flag_of("Paris", 1.0, 1.0) is None
    assert flag_of(" ".join(PROSE.split()[:29]), 1.0, 1.0) is None
    assert flag_of(" ".join(PROSE.split()[:30]), 1.0, 1.0) is not None


def test_rouge_l_is_ignored_in_other_scripts() -> None:
    assert flag_of(RUSSIAN, 1.0, 0.02) is None
    assert flag_of(RUSSIAN, 1.0, 1.0) is not None


@pytest.mark.parametrize("text", [PROSE, RUSSIAN, CHINESE], ids=["english", "russian", "chinese"])
def test_similarity_finds_copies_in_any_script(text: str) -> None:
    flag = flag_of(text, 0.0, 0.0, likeness=0.85)
    assert flag is not None
    assert (flag.evidence["likeness"], flag.evidence["min_likeness"]) == (0.85, 0.85)
    assert flag.message.endswith("by likeness")
    assert flag_of(text, 0.0, 0.0, likeness=0.84) is None
    assert flag_of(text, 0.0, 0.0) is None


WORDS = PROSE.split()
NAMES = (
    "Lisbon Porto Madrid Paris Lyon Berlin Hamburg Vienna Prague Warsaw Rome Milan Naples Athens Oslo Bergen Tampere "
    "Malmö Riga Tallinn Vilnius Minsk Kyiv Odesa Sofia Varna Bucharest Cluj Zagreb Split Ljubljana Graz Linz"
)


@pytest.mark.parametrize("joint", [", ", "; ", " | ", "\n", " ) ( ", ". "])
@pytest.mark.parametrize("each", [1, 3])
def test_marks_do_not_disguise_a_copy(joint: str, each: int) -> None:
    rows = [" ".join(WORDS[start : start + each]) for start in range(0, len(WORDS), each)]
    assert flag_of(joint.join(rows), 1.0, 1.0) is not None


@pytest.mark.parametrize(
    "text",
    [
        ", ".join(["positive", "negative", "very positive", "neutral"] * 20),
        "\n".join(f"row {n} | {n * n} | {n * 3} | ok" for n in range(30)),
        " ".join(str(n * 7) for n in range(60)),
        '{"label": "spam"}, ' * 20,
        "positive negative neutral " * 20,
        " ".join(f"class{n * 7 % 12}" for n in range(70)),
        ", ".join(NAMES.split()),
        "\n".join(f"{n},{name},ok" for n, name in enumerate(NAMES.split())),
        " ".join(f"Ticket {n} is {'spam' if n % 3 else 'ham'}." for n in range(40)),
    ],
    ids=["labels", "table", "numbers", "json", "three labels", "classes", "cities", "csv", "sentences"],
)
def test_equal_labels_names_and_data_are_correct(text: str) -> None:
    assert flag_of(text, 1.0, 1.0, likeness=1.0) is None


def test_similarity_without_a_text_is_held() -> None:
    assert flag_of(None, 0.99, 0.99) is not None
    assert flag_of(None, likeness=0.99) is not None


def test_no_similarity_raises_no_flag() -> None:
    assert RULE.check(case(output_text=PROSE, history={"text": analyze_text(PROSE)}), THRESHOLDS) is None
