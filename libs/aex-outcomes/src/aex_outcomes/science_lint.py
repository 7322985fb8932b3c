"""What is valid in a work's `science` but hardly meant: checks that check nothing, and parts that nobody reads."""

from collections.abc import Iterator

from aex_models.canonical import escape_pointer
from aex_models.criteria import SuccessCriterion
from aex_models.domains import Domain
from aex_models.science import Science
from aex_models.science_checks import PEER_REVIEW, RECOMPUTE_STATISTICS, VALUE_RANGES
from aex_models.work import LintWarning
from aex_outcomes.catalog import Catalog
from aex_outcomes.statistic_names import is_statistic, statistic_name

ROOT = "/science"
_FROM_RAW_DATA = frozenset({"values_consistent", "value_mismatches", "claims_not_recomputed"})


def science_warnings(science: Science, domain: str | None, catalog: Catalog) -> tuple[LintWarning, ...]:
    """Warnings about valid `science`. `domain`: the work's own."""
    if not catalog.has_science:
        return ()
    known = catalog.domain_of(science.domain, domain)
    return (
        *_unchecked(science, domain, known, catalog),
        *_gated_by_own_data(science),
        *_not_uploaded(science),
        *_unread(science),
    )


def rests_on_own_data(criterion: SuccessCriterion, science: Science) -> bool:
    """Whether the metric is recomputed from what the agent itself hands in, as far as the work tells."""
    if criterion.metric not in _FROM_RAW_DATA and not is_statistic(criterion.metric):
        return False
    own = {each.name for each in science.data}
    name = statistic_name(criterion.metric)
    asked = {each.artifact for each in science.statistics if name in (None, each.name) and each.artifact is not None}
    return not own or not asked <= own


def is_recomputed(metric: str) -> bool:
    """Whether the metric stands on raw data, be they the consumer's or the agent's."""
    return metric in _FROM_RAW_DATA or is_statistic(metric)


def _unchecked(science: Science, domain: str | None, known: Domain | None, catalog: Catalog) -> Iterator[LintWarning]:
    """Ranges to hold claims to, of which there are none."""
    if VALUE_RANGES not in science.checks:
        return
    bounded = [name for name, each in science.output_constraints.items() if (each.min, each.max) != (None, None)]
    if not bounded and (known is None or not known.value_ranges):
        why = f"The registry does not know the domain {domain}" if domain else "There is no domain"
        yield LintWarning(
            code="nothing_in_range",
            path=f"{ROOT}/domain",
            message=f"{why if known is None else f'{known.name} has no ranges'}, and no constraint has bounds: "
            "value_ranges holds no claim to anything",
            suggestion=f"Set science.domain ({', '.join(catalog.domains.names)}) or output_constraints, "
            "or leave value_ranges out",
        )
    for name in science.output_constraints.keys() - set(bounded):
        yield LintWarning(
            code="unbounded_constraint",
            path=f"{ROOT}/output_constraints/{escape_pointer(name)}",
            message=f"The constraint on {name} has neither min nor max: it rules nothing out",
            suggestion="Give min, max or both",
        )


def _gated_by_own_data(science: Science) -> Iterator[LintWarning]:
    """A success that rests on statistics of files that the agent hands in itself."""
    if RECOMPUTE_STATISTICS not in science.checks:
        return
    own = {each.name for each in science.data}
    for position, each in enumerate(science.statistics if own else ()):
        if each.artifact is not None and each.artifact not in own:
            yield LintWarning(
                code="own_data_alone",
                path=f"{ROOT}/statistics/{position}/artifact",
                message=f"{each.name} is recomputed from {each.artifact}, which is the agent's own file: "
                "none of science.data is called so",
                suggestion=f"Name a file of yours ({', '.join(sorted(own))}), or leave artifact out",
            )
    if not own:
        yield LintWarning(
            code="own_data_alone",
            path=f"{ROOT}/data",
            message="Success rests on statistics that are recomputed from the agent's own files",
            suggestion="Upload your own raw data (PUT /v1/artifacts) and name them in science.data: they are preferred",
        )


def _not_uploaded(science: Science) -> Iterator[LintWarning]:
    """Raw data without a digest: of a work that was not posted yet, since the services refuse it so."""
    for position, each in enumerate(science.data):
        if each.sha256 is None:
            yield LintWarning(
                code="not_uploaded",
                path=f"{ROOT}/data/{position}/sha256",
                message=f"{each.name} has no sha256: the work is refused before the file is uploaded",
                suggestion="Upload the file (PUT /v1/artifacts), and give the sha256 of the answer",
            )


def _unread(science: Science) -> Iterator[LintWarning]:
    """Parts for which no check is asked that would read them."""
    review, recomputed = PEER_REVIEW in science.checks, RECOMPUTE_STATISTICS in science.checks
    shown = review and science.reviewer_sees_expected
    missing = f"{RECOMPUTE_STATISTICS} is not among the checks"
    for name, given, read, why in (
        ("statistics", science.statistics, recomputed, missing),
        ("data", science.data, recomputed or review, missing),
        ("output_constraints", science.output_constraints, VALUE_RANGES in science.checks,
         f"{VALUE_RANGES} is not among the checks"),
        ("outcome_criteria", science.outcome_criteria, review, f"{PEER_REVIEW} is not among the checks"),
        ("strict", not science.strict, review, f"{PEER_REVIEW} is not among the checks"),
        ("expected_outcome", science.expected_outcome is not None, shown,
         "a reviewer alone could, with peer_review among the checks and reviewer_sees_expected"),
    ):  # fmt: skip
        if given and not read:
            yield LintWarning(
                code="unread",
                path=f"{ROOT}/{name}",
                message=f"Nothing reads science.{name}: {why}",
                suggestion="Add the check, or leave it out",
            )
    if review and not science.question and not science.original_goal:
        yield LintWarning(
            code="no_question",
            path=f"{ROOT}/question",
            message="A reviewer is to say whether the question is answered, and there is none",
            suggestion="Set science.question, and science.original_goal for what it is asked",
        )
