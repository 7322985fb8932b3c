"""Selection of the sightings that are compared: the agent's own, and the nearest of others."""

from datetime import timedelta
from typing import Any

from aex_governance.rules.projection_documents import Sighting
from aex_governance.rules.projection_merging import MAX_COMPARED, similar_sightings
from tests.services.governance.requests import NOW, validation_request
from tests.services.governance.rules.histories import sighting


def other(attempt_id: str, **changes: Any) -> Sighting:
    return sighting(**{"attempt_id": attempt_id, "output_hash": "1" * 64, **changes})


def compared(*bands: list[Sighting]) -> list[str]:
    return [each.attempt_id for each in similar_sightings(validation_request(), bands)]


def test_without_a_shared_band_nothing_is_compared() -> None:
    assert compared() == []
    assert compared([]) == []


def test_copies_and_texts_of_the_same_contract_are_left_out() -> None:
    assert compared([other("att_copy", output_hash="0" * 64), other("att_same", contract_id="ctr_1")]) == []


def test_more_shared_bands_come_first() -> None:
    late, early = other("att_late", seen_at=NOW + timedelta(hours=1)), other("att_early")
    near = other("att_near", seen_at=NOW + timedelta(hours=2))
    assert compared([late, near], [early, near]) == ["att_near", "att_early", "att_late"]


def test_own_sightings_come_first() -> None:
    first = other("att_first", agent_id="bot")
    second = other("att_second", agent_id="bot", seen_at=NOW + timedelta(hours=1))
    assert compared([second, other("att_rival")], [first, second]) == ["att_first", "att_second", "att_rival"]


def test_foreign_sightings_are_limited() -> None:
    crowd = [other(f"att_{number:02}") for number in range(MAX_COMPARED + 5)]
    own = [other(f"own_{number:02}", agent_id="bot") for number in range(MAX_COMPARED + 5)]
    nearest = crowd[-MAX_COMPARED:]
    found = compared([*crowd, *own], nearest)
    assert found == [each.attempt_id for each in (*own, *nearest)]
