"""What a span says that it is about: ids of ours, known by their prefix; nothing else that a caller wrote."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

EXTRACTION_S = "aex.extraction_s."
"""With an extractor's name behind it: the seconds that it took."""
_ID = re.compile(r"(ctr|work|att|hold)_[0-9A-Za-z-]{1,64}", re.ASCII)
_NAMES = {"ctr": "aex.contract_id", "work": "aex.work_id", "att": "aex.attempt_id", "hold": "aex.hold_id"}
_FIELDS = ("contract_id", "work_id", "attempt_id", "hold_id")
_NESTED = ("award", "outcome")
"""Where `contract.awarded` and `outcome.verified` name theirs."""


def about(*ids: object) -> dict[str, str]:
    """`about("ctr_1")` → `{"aex.contract_id": "ctr_1"}`."""
    matches = [_ID.fullmatch(each) for each in ids if isinstance(each, str)]
    return {_NAMES[found[1]]: found[0] for found in matches if found}


def about_message(subject: str, data: Mapping[str, Any]) -> dict[str, str]:
    """What an event, or a timer, is about, by its subject and the ids in its data."""
    return about(*_ids_in(data), subject)


def _ids_in(data: Mapping[str, Any]) -> Iterator[object]:
    for name in _NESTED:
        nested = data.get(name)
        if isinstance(nested, Mapping):
            yield from (nested.get(field) for field in _FIELDS)
    yield from (data.get(field) for field in _FIELDS)
