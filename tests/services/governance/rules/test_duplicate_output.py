"""Copies are told from coincidence."""

from typing import Any

import pytest

from aex_governance.rules.duplicate_output import check
from aex_governance.rules.text import FreeText
from aex_models.governance import Severity
from tests.services.governance.asking import case
from tests.services.governance.rules.sightings import FREE, SHORT, seen


def raised(text: FreeText | None, *sightings: dict[str, Any]) -> Severity | None:
    copies = tuple(seen(**changes) for changes in sightings)
    flag = check(case(history={"text": text, "copies": copies}), {})
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


@pytest.mark.parametrize("text", [None, SHORT])
def test_equal_labels_and_short_answers_are_left_alone(text: FreeText | None) -> None:
    assert raised(text, {}) is None


def test_the_evidence_names_who_when_and_where_and_stays_short() -> None:
    copies = tuple(seen(agent_id=f"rival_{number}", attempt_id=f"att_{number}") for number in range(30))
    flag = check(case(history={"text": FREE, "copies": copies}), {})
    assert flag is not None
    first = flag.evidence["seen_before"][0]
    assert (first["agent_id"], first["work_id"], first["contract_id"]) == ("rival_0", "work_0", "ctr_0")
    assert first["seen_at"].startswith("2026-01-01")
    assert (len(flag.evidence["seen_before"]), flag.evidence["seen_before_by"]) == (5, 30)
