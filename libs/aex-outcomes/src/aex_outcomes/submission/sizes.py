"""Size limits of a stored work without its evaluation data, its criteria together, and each threshold."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from aex_models.canonical import NotCanonical, canonical_bytes, to_json_values
from aex_models.criteria import SuccessCriteria
from aex_models.work import Problem, WorkSubmission
from aex_outcomes.submission.findings import CRITERIA

MAX_THRESHOLD_BYTES = 262_144
MAX_CRITERIA_BYTES = 1_000_000
MAX_WORK_BYTES = 4_000_000
"""Maximum bytes of a threshold, of the criteria and of a work in canonical JSON. A kB has 1,024 bytes, a MB 10^6."""
_SCALARS = bool | int | float | None


def check_work_sizes(body: Mapping[str, Any], submission: WorkSubmission | None) -> Iterator[Problem]:
    """Yield a problem for a work, criteria or threshold that is too large.

    `submission`: the parsed work; None if it is invalid.
    """
    work = _stored_work(body, submission)
    size = _count_bytes(work)
    if 0 < size <= MAX_THRESHOLD_BYTES:
        return  # the usual case: no part is larger than the whole
    yield from check_criteria_sizes(work.get("success_criteria"))
    if size > MAX_WORK_BYTES:
        largest = max(work, key=lambda name: _count_bytes(work[name]))
        subject = f"The work has {size} bytes as stored, without its evaluation data"
        message = f"{subject}; at most {MAX_WORK_BYTES} (4 MB): shorten {largest}, the largest part"
        yield Problem(path="", code="work_too_large", message=message)


def check_criteria_sizes(raw: Any) -> Iterator[Problem]:
    """Yield a problem for criteria or a threshold that is too large. `raw`: criteria as sent."""
    criteria = _stored_criteria(raw)
    size = _count_bytes(criteria)
    if size > MAX_CRITERIA_BYTES:
        subject = f"The criteria have {size} bytes as stored"
        message = f"{subject}; at most {MAX_CRITERIA_BYTES} (1 MB) together: shorten their thresholds"
        yield Problem(path=CRITERIA, code="criteria_too_large", message=message)
    listed = criteria.get("criteria") if isinstance(criteria, Mapping) else None
    for position, each in enumerate(listed if isinstance(listed, list | tuple) else ()):
        length = _count_bytes(each.get("threshold")) if isinstance(each, Mapping) else 0
        if length > MAX_THRESHOLD_BYTES:
            subject = f"The threshold has {length} bytes as stored"
            message = f"{subject}; at most {MAX_THRESHOLD_BYTES} (256 kB): shorten it, or divide it between criteria"
            path = f"{CRITERIA}/criteria/{position}/threshold"
            yield Problem(path=path, code="threshold_too_large", message=message)


def _stored_work(body: Mapping[str, Any], submission: WorkSubmission | None) -> dict[str, Any]:
    """Return the work as agents read it, without its secrets, which are stored elsewhere."""
    if submission is not None:
        science = submission.science.without_secrets() if submission.science else None
        return submission.model_copy(update={"evaluation": None, "science": science}).model_dump(mode="json")
    work = {name: value for name, value in body.items() if name != "evaluation"}
    work["success_criteria"] = _stored_criteria(work.get("success_criteria"))
    if isinstance(science := work.get("science"), Mapping):
        work["science"] = {name: value for name, value in science.items() if name != "expected_outcome"}
    return work


def _stored_criteria(raw: Any) -> Any:
    """Return the criteria with defaults filled in; malformed ones as sent."""
    try:
        return to_json_values(SuccessCriteria.model_validate(raw))
    except (ValidationError, NotCanonical):
        return raw


def _count_bytes(value: Any) -> int:
    """Return the size of a value in canonical JSON; 0 for a scalar, and for a value that is not JSON."""
    try:
        return 0 if isinstance(value, _SCALARS) else len(canonical_bytes(value))
    except NotCanonical:
        return 0
