"""What extraction brought for one criterion: a value, an error, or nothing."""

from dataclasses import dataclass
from typing import Any

from aex_models.results import CriterionError, Provenance


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric as it was extracted for one criterion. Without value and error, it is missing."""

    value: Any = None
    error: CriterionError | None = None
    provenance: Provenance | None = None
    """Of this candidate's value; None: the catalogue's."""
    secret: bool = False
    """Whether this candidate's value is computed from evaluation data, whatever the catalogue says."""


MISSING_METRIC = Reading()
