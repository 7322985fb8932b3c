"""Texts that are nearly another agent's."""

from typing import Any

import pytest

from aex_governance.rules.case import Likeness
from aex_governance.rules.config import load_rules
from aex_governance.rules.near_duplicate_output import RULE, check
from aex_governance.rules.sketch import similarity
from aex_governance.rules.text import FreeText, read_text
from aex_models.governance import Flag, Severity
from tests.services.governance.asking import case
from tests.services.governance.rules.sightings import FREE, SHORT, seen
from tests.services.governance.texts import CHINESE, OTHER, PROSE, edited

THRESHOLDS = load_rules()[RULE.name].thresholds


def raised(likeness: float, text: FreeText | None = FREE, **changes: Any) -> Flag | None:
    alike = (Likeness(seen(**{"output_hash": "1" * 64, **changes}), likeness),)
    return check(case(history={"text": text, "likenesses": alike}), THRESHOLDS)


def test_a_text_as_alike_as_the_threshold_is_held() -> None:
    flag = raised(THRESHOLDS["min_similarity"])
    assert flag is not None
    assert flag.severity is Severity.MAJOR
    assert flag.evidence["alike"][0]["agent_id"] == "rival"
    assert flag.evidence["alike"][0]["similarity"] == THRESHOLDS["min_similarity"]


@pytest.mark.parametrize(
    "changes",
    [{"agent_id": "bot"}, {"work_id": "work_1"}, {"output_hash": "0" * 64}, {"text": SHORT}, {"text": None}],
    ids=["its own", "on the same work", "an equal one", "a short one", "no text"],
)
def test_other_likenesses_are_left_alone(changes: dict[str, Any]) -> None:
    assert raised(0.99, **changes) is None


def test_a_text_that_is_less_alike_is_left_alone() -> None:
    assert raised(THRESHOLDS["min_similarity"] - 0.01) is None


def alike(left: str, right: str) -> bool:
    sketches = [read_text(text).sketch for text in (left, right)]
    assert sketches[0] is not None
    assert sketches[1] is not None
    return bool(similarity(sketches[0], sketches[1]) >= THRESHOLDS["min_similarity"])


SENTENCES = PROSE.split(". ")
COPIES = {
    "every twelfth word replaced": edited(PROSE),
    "sentences in another order": ". ".join(reversed(SENTENCES)),
    "a sentence added": f"{PROSE} That was all there was to say about the first quarter of the year, they wrote.",
    "the last fifth cut": " ".join(PROSE.split()[: len(PROSE.split()) * 4 // 5]),
    "capitals, other marks, no-width spaces": "\u200b".join(PROSE.upper().replace(".", "!")),
}


@pytest.mark.parametrize("text", COPIES.values(), ids=COPIES)
def test_an_edited_copy_is_alike(text: str) -> None:
    assert alike(PROSE, text)


def test_an_edited_copy_of_characters_without_spaces_is_alike() -> None:
    assert alike(CHINESE, CHINESE.replace("企业", "公司").replace("新技术", "发明"))


def test_another_text_on_the_same_topic_is_not_alike() -> None:
    assert not alike(PROSE, OTHER)


def test_a_text_that_quotes_a_third_of_another_is_not_alike() -> None:
    assert not alike(PROSE, f"{OTHER} {' '.join(PROSE.split()[:27])}.")
