"""Copies of free text, and honest repetitions."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.duplicate_output import RULE, check
from aex_governance.text.free_text import FreeText
from aex_models.governance import Severity
from tests.services.governance.requests import FREE, NOW, SHORT, case, sighting

THRESHOLDS = load_rule_configs()[RULE.name].thresholds
EARLIER, LATER = NOW - timedelta(hours=1), NOW + timedelta(hours=1)


def raised(text: FreeText | None, *sightings: dict[str, Any]) -> Severity | None:
    copies = tuple(sighting(**changes) for changes in sightings)
    flag = check(case(history={"text": text, "copies": copies}), THRESHOLDS)
    return flag.severity if flag else None


@pytest.mark.parametrize(
    ("sightings", "severity"),
    [
        ([{}], Severity.CRITICAL),
        ([{"agent_id": "bot"}], Severity.MINOR),
        ([{"agent_id": "bot"}, {}], Severity.CRITICAL),
        ([{"agent_id": "bot", "consumer_id": "acme"}], None),
        ([{"work_id": "work_1"}], None),
    ],
    ids=["another agent's", "its own", "both", "its own for the same consumer", "another agent's on the same work"],
)
def test_origin_of_a_copy_gives_the_severity(sightings: list[dict[str, Any]], severity: Severity | None) -> None:
    assert raised(FREE, *sightings) is severity


@pytest.mark.parametrize("contract", ["ctr_1", "ctr_9"], ids=["the same contract", "another one"])
def test_author_may_repeat_a_copied_text(contract: str) -> None:
    own = {"agent_id": "bot", "consumer_id": "acme", "contract_id": contract, "seen_at": EARLIER}
    assert raised(FREE, own, {"seen_at": NOW}) is None
    assert raised(FREE, own, {"seen_at": EARLIER - timedelta(hours=1)}) is Severity.CRITICAL


@pytest.mark.parametrize(("own", "severity"), [("att_a", None), ("att_c", Severity.CRITICAL)])
def test_attempt_id_orders_simultaneous_sightings(own: str, severity: Severity | None) -> None:
    first = {"agent_id": "bot", "consumer_id": "acme", "attempt_id": own}
    assert raised(FREE, first, {"attempt_id": "att_b"}) is severity


@pytest.mark.parametrize(("at", "is_later"), [(EARLIER, False), (NOW, False), (LATER, True)])
def test_message_mentions_a_later_reception(at: datetime, is_later: bool) -> None:
    flag = check(case(history={"text": FREE, "copies": (sighting(seen_at=at),)}), THRESHOLDS)
    assert flag is not None
    assert ("received after this one" in flag.message) is is_later


def test_shorter_texts_are_honest() -> None:
    copies = case(history={"text": FREE, "copies": (sighting(),)})
    assert check(copies, {"min_tokens": FREE.tokens}) is not None
    assert check(copies, {"min_tokens": FREE.tokens + 1}) is None
    assert raised(SHORT, {}) is raised(None, {}) is None


def test_evidence_lists_the_first_sightings() -> None:
    copies = tuple(sighting(agent_id=f"rival_{number}", attempt_id=f"att_{number}") for number in range(30))
    flag = check(case(history={"text": FREE, "copies": copies}), THRESHOLDS)
    assert flag is not None
    first = flag.evidence["seen_before"][0]
    assert (first["agent_id"], first["work_id"], first["contract_id"]) == ("rival_0", "work_0", "ctr_0")
    assert first["seen_at"].startswith("2026-01-01")
    assert (len(flag.evidence["seen_before"]), flag.evidence["seen_before_by"]) == (5, 30)
