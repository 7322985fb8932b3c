"""What extraction brought for one criterion: a value, an error, or nothing."""

from dataclasses import dataclass
from typing import Any

from aex_models.results import CriterionError


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric as it was extracted for one criterion. Without value and error, it is missing."""

    value: Any = None
    error: CriterionError | None = None


MISSING_METRIC = Reading()
