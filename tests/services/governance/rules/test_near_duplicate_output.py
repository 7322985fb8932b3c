"""Free text nearly identical to another agent's."""

from datetime import timedelta
from typing import Any

import pytest

from aex_governance.rules.case import NearCopy
from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.near_duplicate_output import RULE, check
from aex_governance.text.free_text import FreeText, analyze_text, estimate_similarity
from aex_models.governance import Flag, Severity
from tests.services.governance.requests import FREE, NOW, SHORT, case, sighting
from tests.services.governance.texts import OTHER, PROSE, edited

THRESHOLDS = load_rule_configs()[RULE.name].thresholds


def raised(likeness: float, text: FreeText | None = FREE, **changes: Any) -> Flag | None:
    near_copies = (NearCopy(sighting(**{"output_hash": "1" * 64, **changes}), likeness),)
    return check(case(history={"text": text, "near_copies": near_copies}), THRESHOLDS)


def test_similarity_at_the_threshold_is_held() -> None:
    flag = raised(THRESHOLDS["min_similarity"])
    assert flag is not None
    assert flag.severity is Severity.MAJOR
    assert flag.evidence["alike"][0]["agent_id"] == "rival"
    assert flag.evidence["alike"][0]["similarity"] == THRESHOLDS["min_similarity"]
    assert raised(THRESHOLDS["min_similarity"] - 0.01) is None
    assert raised(0.9, work_id="work_1") is not None, "on the same work"


@pytest.mark.parametrize(
    "changes",
    [{"agent_id": "bot"}, {"contract_id": "ctr_1"}, {"output_hash": "0" * 64}, {"text": SHORT}, {"text": None}],
    ids=["its own", "on the same contract", "an equal one", "a short one", "no text"],
)
def test_other_similar_texts_are_honest(changes: dict[str, Any]) -> None:
    assert raised(0.99, **changes) is None


@pytest.mark.parametrize(
    ("likeness", "hours", "held"), [(0.9, -1, False), (0.3, -1, True), (0.9, 1, True)],
    ids=["its own came first", "its own was another text", "its own came later"],
)  # fmt: skip
def test_author_may_repeat_a_nearly_copied_text(likeness: float, hours: int, held: bool) -> None:
    own = sighting(agent_id="bot", contract_id="ctr_1", attempt_id="att_own", seen_at=NOW + timedelta(hours=hours))
    near_copies = (NearCopy(own, likeness), NearCopy(sighting(output_hash="1" * 64), 0.9))
    flag = check(case(history={"text": FREE, "near_copies": near_copies}), THRESHOLDS)
    assert (flag is not None) is held
    if flag is not None:
        assert [each["agent_id"] for each in flag.evidence["alike"]] == ["rival"]


def test_message_mentions_a_later_reception() -> None:
    later, same = raised(0.9, seen_at=NOW + timedelta(hours=1)), raised(0.9)
    assert later is not None
    assert same is not None
    assert "received after this one" in later.message
    assert "received after this one" not in same.message


def test_shorter_texts_are_honest() -> None:
    near = case(history={"text": FREE, "near_copies": (NearCopy(sighting(output_hash="1" * 64), 0.9),)})
    assert check(near, {**THRESHOLDS, "min_tokens": FREE.tokens}) is not None
    assert check(near, {**THRESHOLDS, "min_tokens": FREE.tokens + 1}) is None


def are_similar(left: str, right: str) -> bool:
    sketches = [analyze_text(text).sketch for text in (left, right)]
    assert sketches[0] is not None
    assert sketches[1] is not None
    return bool(estimate_similarity(sketches[0], sketches[1]) >= THRESHOLDS["min_similarity"])


SENTENCES = PROSE.split(". ")
COPIES = {
    "every twelfth word replaced": edited(PROSE),
    "sentences in another order": ". ".join(reversed(SENTENCES)),
    "a sentence added": f"{PROSE} That was all there was to say about the first quarter of the year, they wrote.",
    "the last fifth cut": " ".join(PROSE.split()[: len(PROSE.split()) * 4 // 5]),
    "capitals, other marks, no-width spaces": "\u200b".join(PROSE.upper().replace(".", "!")),
}


@pytest.mark.parametrize("text", COPIES.values(), ids=COPIES)
def test_edited_copy_is_similar(text: str) -> None:
    assert are_similar(PROSE, text)


def test_text_on_the_same_topic_or_with_a_long_quotation_is_not_similar() -> None:
    assert not are_similar(PROSE, OTHER)
    assert not are_similar(PROSE, f"{OTHER} {' '.join(PROSE.split()[:27])}.")
