"""Texts that are nearly another agent's."""

from datetime import timedelta
from typing import Any

import pytest

from aex_governance.rules.case import Likeness
from aex_governance.rules.config import load_rules
from aex_governance.rules.near_duplicate_output import RULE, check
from aex_governance.rules.sketch import similarity
from aex_governance.rules.text import FreeText, read_text
from aex_models.governance import Flag, Severity
from tests.services.governance.asking import NOW, case
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
    [{"agent_id": "bot"}, {"contract_id": "ctr_1"}, {"output_hash": "0" * 64}, {"text": SHORT}, {"text": None}],
    ids=["its own", "on the same contract", "an equal one", "a short one", "no text"],
)
def test_other_likenesses_are_left_alone(changes: dict[str, Any]) -> None:
    assert raised(0.99, **changes) is None


def test_another_agents_on_the_same_work_counts() -> None:
    assert raised(0.9, work_id="work_1") is not None


@pytest.mark.parametrize(
    ("likeness", "hours", "held"), [(0.9, -1, False), (0.3, -1, True), (0.9, 1, True)],
    ids=["its own came first", "its own was another text", "its own came later"],
)  # fmt: skip
def test_whoever_copied_the_author_makes_no_near_copies_of_what_the_author_delivers_later(
    likeness: float, hours: int, held: bool
) -> None:
    own = seen(agent_id="bot", contract_id="ctr_1", attempt_id="att_own", seen_at=NOW + timedelta(hours=hours))
    alike = (Likeness(own, likeness), Likeness(seen(output_hash="1" * 64), 0.9))
    flag = check(case(history={"text": FREE, "likenesses": alike}), THRESHOLDS)
    assert (flag is not None) is held
    if flag is not None:
        assert [each["agent_id"] for each in flag.evidence["alike"]] == ["rival"]


def test_the_message_tells_where_the_one_seen_was_received_later() -> None:
    later, same = raised(0.9, seen_at=NOW + timedelta(hours=1)), raised(0.9)
    assert later is not None
    assert same is not None
    assert "received after this one" in later.message
    assert "received after this one" not in same.message


def test_texts_shorter_than_the_threshold_are_left_alone() -> None:
    near = case(history={"text": FREE, "likenesses": (Likeness(seen(output_hash="1" * 64), 0.9),)})
    assert check(near, {**THRESHOLDS, "min_tokens": FREE.tokens}) is not None
    assert check(near, {**THRESHOLDS, "min_tokens": FREE.tokens + 1}) is None


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
