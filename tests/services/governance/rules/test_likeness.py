"""Which of the texts that share bands with one are compared with it: its agent's own, and the nearest of others'."""

from datetime import timedelta
from typing import Any

from aex_governance.rules.likeness import MAX_COMPARED, candidates
from aex_governance.rules.projection.documents import BandEntry
from aex_governance.rules.sighting import Sighting
from tests.services.governance.asking import NOW, asked
from tests.services.governance.rules.sightings import seen


def other(attempt_id: str, **changes: Any) -> Sighting:
    """Another agent's text, not the same one."""
    return seen(**{"attempt_id": attempt_id, "output_hash": "1" * 64, **changes})


def compared(*bands: list[Sighting]) -> list[str]:
    return [each.attempt_id for each in candidates(asked(), [BandEntry(sightings=tuple(band)) for band in bands])]


def test_without_a_shared_band_nothing_is_compared() -> None:
    assert compared() == []
    assert compared([]) == []


def test_copies_and_texts_of_the_same_contract_are_told_by_other_means() -> None:
    assert compared([other("att_copy", output_hash="0" * 64), other("att_same", contract_id="ctr_1")]) == []


def test_others_that_share_more_bands_come_first_and_then_the_earlier() -> None:
    late, early = other("att_late", seen_at=NOW + timedelta(hours=1)), other("att_early")
    near = other("att_near", seen_at=NOW + timedelta(hours=2))
    assert compared([late, near], [early, near]) == ["att_near", "att_early", "att_late"]


def test_the_agents_own_come_before_all_others_the_earliest_first_and_each_once() -> None:
    first = other("att_first", agent_id="bot")
    second = other("att_second", agent_id="bot", seen_at=NOW + timedelta(hours=1))
    assert compared([second, other("att_rival")], [first, second]) == ["att_first", "att_second", "att_rival"]


def test_of_many_others_the_nearest_are_compared_and_of_its_own_all() -> None:
    crowd = [other(f"att_{number:02}") for number in range(MAX_COMPARED + 5)]
    own = [other(f"own_{number:02}", agent_id="bot") for number in range(MAX_COMPARED + 5)]
    nearest = crowd[-MAX_COMPARED:]
    found = compared([*crowd, *own], nearest)
    assert found == [each.attempt_id for each in (*own, *nearest)]
