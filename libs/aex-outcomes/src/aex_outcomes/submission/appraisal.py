"""What is odd about a work in order, and what it can cost: of equal works the same, and so found once."""

import pickle
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any, Protocol

from aex_models.work import LintWarning, Quote, WorkSubmission
from aex_outcomes.catalog import Catalog
from aex_outcomes.extent import NOTHING, Extent, extent_of
from aex_outcomes.linter import Linted, lint_reached
from aex_outcomes.quotation import quote, quote_reached
from aex_outcomes.reachable import MAX_ENUMERATED
from aex_outcomes.science_lint import science_warnings
from aex_outcomes.submission.findings import CRITERIA

_MOST_BYTES = 16_384
"""Of criteria and budget, as they were written."""


@dataclass(frozen=True, slots=True)
class Appraisal:
    """Warnings in the order of the rules, and the exact range of prices."""

    warnings: tuple[LintWarning, ...]
    quote: Quote


class Appraise(Protocol):
    """Finds an appraisal."""

    def __call__(self, body: Mapping[str, Any], submission: WorkSubmission, catalog: Catalog) -> Appraisal:
        """`submission`: what `body`, as it was parsed from JSON, says; nothing is wrong with it."""
        ...


def appraised(body: Mapping[str, Any], submission: WorkSubmission, catalog: Catalog) -> Appraisal:
    """Warnings and quote, over one enumeration of what is reachable."""
    return _appraisal(submission, _extent(body, submission), catalog)


class Appraisals:
    """Remembers the appraisals of works without science, by what they were written like, under one catalogue.

    Those of long criteria are not remembered: warnings quote them. Of evaluation data nothing is remembered but numbers
    (`Extent`). May be asked in several threads at once.
    """

    def __init__(self, most: int = 1_024) -> None:
        """`most`: works that are remembered; the oldest goes."""
        self._most = most
        self._known: OrderedDict[bytes, Appraisal] = OrderedDict()
        self._lock = Lock()

    def __call__(self, body: Mapping[str, Any], submission: WorkSubmission, catalog: Catalog) -> Appraisal:
        """See `Appraise`; the catalogue is always the same."""
        extent = _extent(body, submission)
        written = _written(body, submission, extent)
        if submission.science is not None or len(written) > _MOST_BYTES:
            return _appraisal(submission, extent, catalog)
        key = sha256(written).digest()
        known = self._known.get(key)
        if known is None:
            known = _appraisal(submission, extent, catalog)
            self._remember(key, known)
        return known

    def _remember(self, key: bytes, appraisal: Appraisal) -> None:
        with self._lock:
            self._known[key] = appraisal
            if len(self._known) > self._most:
                self._known.popitem(last=False)


def _written(body: Mapping[str, Any], submission: WorkSubmission, extent: Extent) -> bytes:
    """Equal only for works that are appraised alike: by criteria and budget as they were written, 0.40 and 0.4 apart.

    Of the ways to write a JSON value down, the pickler's is the one that tells numbers by their text, and runs in C.
    """
    numbers = (extent.labels, extent.terms, extent.wordless, _is_verified(submission))
    return pickle.dumps((body.get("success_criteria"), body["budget"], numbers))


def _extent(body: Mapping[str, Any], submission: WorkSubmission) -> Extent:
    criteria, evaluation = submission.success_criteria, body.get("evaluation")
    return extent_of(criteria.criteria, evaluation) if criteria and isinstance(evaluation, Mapping) else NOTHING


def _appraisal(submission: WorkSubmission, extent: Extent, catalog: Catalog) -> Appraisal:
    criteria, budget, science = submission.success_criteria, submission.budget, submission.science
    of_science = science_warnings(science, submission.domain, catalog) if science else ()
    if criteria is None:
        return Appraisal(of_science, quote_reached(None, budget, ()))
    known = catalog.with_statistics(science.statistics if science else ())
    linted = Linted.of(criteria, budget, extent, known, CRITERIA, verified=_is_verified(submission), science=science)
    if len(criteria.criteria) <= MAX_ENUMERATED:
        price = quote_reached(criteria, budget, linted.reached)
    else:
        price = quote(criteria, budget, catalog)
    return Appraisal((*lint_reached(linted), *of_science), price)


def _is_verified(submission: WorkSubmission) -> bool:
    return submission.verification.verifier is not None
