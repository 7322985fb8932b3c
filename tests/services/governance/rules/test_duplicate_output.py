"""Copies are told from coincidence."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from aex_governance.rules.config import load_rules
from aex_governance.rules.duplicate_output import RULE, check
from aex_governance.rules.text import FreeText
from aex_models.governance import Severity
from tests.services.governance.asking import NOW, case
from tests.services.governance.rules.sightings import FREE, SHORT, seen

THRESHOLDS = load_rules()[RULE.name].thresholds
EARLIER, LATER = NOW - timedelta(hours=1), NOW + timedelta(hours=1)


def raised(text: FreeText | None, *sightings: dict[str, Any]) -> Severity | None:
    copies = tuple(seen(**changes) for changes in sightings)
    flag = check(case(history={"text": text, "copies": copies}), THRESHOLDS)
    return flag.severity if flag else None


def test_another_agents_text_on_another_work_is_critical() -> None:
    assert raised(FREE, {}) is Severity.CRITICAL


def test_the_agents_own_text_for_another_consumer_is_minor() -> None:
    assert raised(FREE, {"agent_id": "bot"}) is Severity.MINOR


def test_what_others_delivered_weighs_more_than_what_was_sold_twice() -> None:
    assert raised(FREE, {"agent_id": "bot"}, {}) is Severity.CRITICAL


@pytest.mark.parametrize(
    "sighting",
    [{"agent_id": "bot", "consumer_id": "acme"}, {"work_id": "work_1"}],
    ids=["the agent's own for the same consumer", "another agent's on the same work"],
)
def test_other_repeats_are_left_alone(sighting: dict[str, Any]) -> None:
    assert raised(FREE, sighting) is None


@pytest.mark.parametrize("contract", ["ctr_1", "ctr_9"], ids=["the same contract", "another one"])
def test_whoever_copied_the_author_makes_no_copies_of_what_the_author_delivers_later(contract: str) -> None:
    own = {"agent_id": "bot", "consumer_id": "acme", "contract_id": contract, "seen_at": EARLIER}
    assert raised(FREE, own, {"seen_at": NOW}) is None
    assert raised(FREE, own, {"seen_at": EARLIER - timedelta(hours=1)}) is Severity.CRITICAL


@pytest.mark.parametrize(("own", "severity"), [("att_a", None), ("att_c", Severity.CRITICAL)])
def test_of_the_same_moment_the_name_of_the_attempt_decides(own: str, severity: Severity | None) -> None:
    first = {"agent_id": "bot", "consumer_id": "acme", "attempt_id": own}
    assert raised(FREE, first, {"attempt_id": "att_b"}) is severity


@pytest.mark.parametrize(("at", "told"), [(EARLIER, False), (NOW, False), (LATER, True)])
def test_the_message_tells_where_the_one_seen_was_received_later(at: datetime, told: bool) -> None:
    flag = check(case(history={"text": FREE, "copies": (seen(seen_at=at),)}), THRESHOLDS)
    assert flag is not None
    assert ("received after this one" in flag.message) is told


def test_texts_shorter_than_the_threshold_are_left_alone() -> None:
    copies = case(history={"text": FREE, "copies": (seen(),)})
    assert check(copies, {"min_tokens": FREE.tokens}) is not None
    assert check(copies, {"min_tokens": FREE.tokens + 1}) is None


@pytest.mark.parametrize("text", [None, SHORT])
def test_equal_labels_and_short_answers_are_left_alone(text: FreeText | None) -> None:
    assert raised(text, {}) is None


def test_the_evidence_names_who_when_and_where_and_stays_short() -> None:
    copies = tuple(seen(agent_id=f"rival_{number}", attempt_id=f"att_{number}") for number in range(30))
    flag = check(case(history={"text": FREE, "copies": copies}), THRESHOLDS)
    assert flag is not None
    first = flag.evidence["seen_before"][0]
    assert (first["agent_id"], first["work_id"], first["contract_id"]) == ("rival_0", "work_0", "ctr_0")
    assert first["seen_at"].startswith("2026-01-01")
    assert (len(flag.evidence["seen_before"]), flag.evidence["seen_before_by"]) == (5, 30)
