"""Appraisal of a valid work: the linter's warnings and the price quote, and a cache of both."""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from hashlib import sha256
from threading import Lock
from typing import Any

from aex_models.work import LintWarning, Quote, WorkSubmission
from aex_outcomes.catalog import Catalog
from aex_outcomes.evaluation_counts import EvaluationCounts, count_evaluation_items
from aex_outcomes.feasibility import MAX_ENUMERATED
from aex_outcomes.linter import LintContext, run_lint_rules
from aex_outcomes.price_quote import quote, quote_for_combinations
from aex_outcomes.science_lint import lint_science
from aex_outcomes.submission.findings import CRITERIA

_MAX_KEY_BYTES = 16_384
"""Maximum bytes of criteria and budget, as submitted, of a work that is cached."""


@dataclass(frozen=True, slots=True)
class Appraisal:
    """Linter's warnings about a valid work, in the order of the rules, and its price quote."""

    warnings: tuple[LintWarning, ...]
    quote: Quote


Appraise = Callable[[Mapping[str, Any], WorkSubmission, Catalog], Appraisal]
"""Function that appraises a valid submission; its first argument is the body as parsed from JSON."""


def appraise_work(body: Mapping[str, Any], submission: WorkSubmission, catalog: Catalog) -> Appraisal:
    """Compute the warnings and the quote of a valid submission; `body` is its JSON as submitted."""
    return _appraisal(submission, _count_items(body, submission), catalog)


class Appraisals:
    """Cache of appraisals under one catalogue, called like `appraise_work`; safe for several threads.

    Works with `science` and works with long criteria are computed each time. Of evaluation data only counts are kept.
    """

    def __init__(self, max_works: int = 1_024) -> None:
        self._max_works = max_works
        self._known: OrderedDict[bytes, Appraisal] = OrderedDict()
        self._lock = Lock()

    def __call__(self, body: Mapping[str, Any], submission: WorkSubmission, catalog: Catalog) -> Appraisal:
        """Return the appraisal from the cache, or compute and store it; the catalogue must always be the same."""
        counts = _count_items(body, submission)
        content = _cache_key(body, submission, counts)
        if submission.science is not None or len(content) > _MAX_KEY_BYTES:
            return _appraisal(submission, counts, catalog)
        key = sha256(content).digest()
        known = self._known.get(key)
        if known is None:
            known = _appraisal(submission, counts, catalog)
            with self._lock:
                self._known[key] = known
                if len(self._known) > self._max_works:
                    self._known.popitem(last=False)
        return known


def _cache_key(body: Mapping[str, Any], submission: WorkSubmission, counts: EvaluationCounts) -> bytes:
    """Return bytes that are equal only for works with equal appraisals; pickle distinguishes 1 from 1.0."""
    others = (astuple(counts), _is_verified(submission))
    return pickle.dumps((body.get("success_criteria"), body["budget"], others))


def _count_items(body: Mapping[str, Any], submission: WorkSubmission) -> EvaluationCounts:
    criteria, evaluation = submission.success_criteria, body.get("evaluation")
    return count_evaluation_items(
        criteria.criteria if criteria else (), evaluation if isinstance(evaluation, Mapping) else {}
    )


def _appraisal(submission: WorkSubmission, counts: EvaluationCounts, catalog: Catalog) -> Appraisal:
    criteria, budget, science = submission.success_criteria, submission.budget, submission.science
    warnings = lint_science(science, submission.domain, catalog) if science else ()
    if criteria is None:
        return Appraisal(warnings, quote_for_combinations(None, budget, ()))
    known = catalog.with_statistics(science.statistics if science else ())
    context = LintContext(criteria, budget, counts, known, CRITERIA, _is_verified(submission), science)
    is_exact = len(criteria.criteria) <= MAX_ENUMERATED
    price = (
        quote_for_combinations(criteria, budget, context.feasible_combinations)
        if is_exact
        else quote(criteria, budget, catalog)
    )
    return Appraisal((*run_lint_rules(context), *warnings), price)


def _is_verified(submission: WorkSubmission) -> bool:
    return submission.verification.verifier is not None
