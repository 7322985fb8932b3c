"""Linter of a work's `science`: warns of valid parts that check nothing or that no check reads."""

from collections.abc import Iterator

from aex_models.canonical import escape_pointer_segment
from aex_models.criteria import SuccessCriterion
from aex_models.domains import Domain
from aex_models.examination import PEER_REVIEW, RECOMPUTE_STATISTICS, VALUE_RANGES
from aex_models.science import Science, ShareReview
from aex_models.work import LintWarning
from aex_outcomes.catalog import Catalog
from aex_outcomes.metric_names import is_statistic_metric, parse_statistic_name

ROOT = "/science"
_FROM_RAW_DATA = frozenset({"values_consistent", "value_mismatches", "claims_not_recomputed"})


def make_lint_warning(code: str, pointer: str, message: str, suggestion: str) -> LintWarning:
    """Return a linter's warning; `pointer` is the JSON pointer of the work's part that it is about."""
    return LintWarning(code=code, path=pointer, message=message, suggestion=suggestion)


def lint_science(science: Science, work_domain: str | None, catalog: Catalog) -> tuple[LintWarning, ...]:
    """Return warnings about valid `science`; none where the catalogue has no scientific metrics.

    `work_domain`: the work's own domain, which applies if `science` names none.
    """
    if not catalog.has_science:
        return ()
    known = catalog.resolve_domain(science.domain, work_domain)
    return (
        *_lint_ranges(science, work_domain, known, catalog),
        *_lint_own_data(science),
        *_lint_uploads(science),
        *_lint_unread_parts(science),
        *_lint_unread_tables(science),
        *_lint_join_sides(science),
    )


def is_recomputed_from_agent_files(criterion: SuccessCriterion, science: Science) -> bool:
    """Return True if the criterion's metric may be recomputed from the agent's own files.

    That is so if the work names no data of its own. It is also so if the metric's statistics name no file, or a file
    not among these data.
    """
    if not is_recomputed_metric(criterion.metric):
        return False
    own = _own_tables(science)
    name = parse_statistic_name(criterion.metric)
    names = {each.artifact for each in science.statistics if name in (None, each.name) and each.artifact is not None}
    return not own or not names <= own


def _own_tables(science: Science) -> set[str]:
    """Return the names of the work's own files, and of joins that read one of them."""
    own = {each.name for each in science.data}
    for join in science.joins:
        if own & {join.left, join.right}:
            own.add(join.name)
    return own


def is_recomputed_metric(metric: str) -> bool:
    """Return True if the metric is computed from raw data, the consumer's or the agent's."""
    return metric in _FROM_RAW_DATA or is_statistic_metric(metric)


def _lint_ranges(science: Science, domain: str | None, known: Domain | None, catalog: Catalog) -> Iterator[LintWarning]:
    """Warn of the check `value_ranges` without any range, and of constraints without bounds."""
    if VALUE_RANGES not in science.checks:
        return
    bounded = [name for name, each in science.output_constraints.items() if (each.min, each.max) != (None, None)]
    if not bounded and (known is None or not known.value_ranges):
        why = f"The registry does not know the domain {domain}" if domain else "There is no domain"
        why = why if known is None else f"{known.name} has no ranges"
        message = f"{why}, and no constraint has bounds: value_ranges holds no claim to anything"
        names = ", ".join(catalog.domains.names)
        fix = f"Set science.domain ({names}) or output_constraints, or leave value_ranges out"
        yield make_lint_warning("nothing_in_range", f"{ROOT}/domain", message, fix)
    for name in science.output_constraints.keys() - set(bounded):
        message = f"The constraint on {name} has neither min nor max: it rules nothing out"
        fix = "Give min, max or both"
        path = f"{ROOT}/output_constraints/{escape_pointer_segment(name)}"
        yield make_lint_warning("unbounded_constraint", path, message, fix)


def _lint_own_data(science: Science) -> Iterator[LintWarning]:
    """Warn of statistics that are recomputed from the agent's own files only."""
    if RECOMPUTE_STATISTICS not in science.checks:
        return
    own = _own_tables(science)
    for position, each in enumerate(science.statistics if own else ()):
        if each.artifact is not None and each.artifact not in own:
            origin = f"{each.artifact}, which is the agent's own file: none of science.data is called so"
            fix = f"Name a file of yours ({', '.join(sorted(own))}), or leave artifact out"
            path = f"{ROOT}/statistics/{position}/artifact"
            yield make_lint_warning("own_data_alone", path, f"{each.name} is recomputed from {origin}", fix)
    if not own:
        message = "Success rests on statistics that are recomputed from the agent's own files"
        fix = "Upload your own raw data (PUT /v1/artifacts) and name them in science.data: they are preferred"
        yield make_lint_warning("own_data_alone", f"{ROOT}/data", message, fix)


def _lint_uploads(science: Science) -> Iterator[LintWarning]:
    """Warn of raw data without a SHA-256 digest, which services refuse."""
    for position, each in enumerate(science.data):
        if each.sha256 is None:
            message = f"{each.name} has no sha256: the work is refused before the file is uploaded"
            fix = "Upload the file (PUT /v1/artifacts), and give the sha256 of the answer"
            yield make_lint_warning("not_uploaded", f"{ROOT}/data/{position}/sha256", message, fix)


def _lint_unread_parts(science: Science) -> Iterator[LintWarning]:
    """Warn of parts that no demanded check reads, and of a peer review without a question."""
    review, recomputed = PEER_REVIEW in science.checks, RECOMPUTE_STATISTICS in science.checks
    is_visible = review and science.reviewer_sees_expected
    missing = f"{RECOMPUTE_STATISTICS} is not among the checks"
    for name, given, read, why in (
        ("statistics", science.statistics, recomputed, missing),
        ("joins", science.joins, recomputed, missing),
        ("derived", science.derived, bool({*science.checks} - {VALUE_RANGES, PEER_REVIEW}), missing),
        ("data", science.data, recomputed or review, missing),
        ("output_constraints", science.output_constraints, VALUE_RANGES in science.checks,
         f"{VALUE_RANGES} is not among the checks"),
        ("outcome_criteria", science.outcome_criteria, review, f"{PEER_REVIEW} is not among the checks"),
        ("share_review", science.share_review is not ShareReview.NONE, review,
         f"{PEER_REVIEW} is not among the checks"),
        ("strict", not science.strict, review, f"{PEER_REVIEW} is not among the checks"),
        ("expected_outcome", science.expected_outcome is not None, is_visible,
         "a reviewer alone could, with peer_review among the checks and reviewer_sees_expected"),
    ):  # fmt: skip
        if given and not read:
            message = f"Nothing reads science.{name}: {why}"
            yield make_lint_warning("unread", f"{ROOT}/{name}", message, "Add the check, or leave it out")
    if review and not science.question and not science.original_goal:
        message = "A reviewer is to say whether the question is answered, and there is none"
        fix = "Set science.question, and science.original_goal for what it is asked"
        yield make_lint_warning("no_question", f"{ROOT}/question", message, fix)


def _lint_unread_tables(science: Science) -> Iterator[LintWarning]:
    """Warn of joins and derived columns that nothing reads."""
    read = {each.artifact for each in science.statistics} | {each.artifact for each in science.derived}
    for position in reversed(range(len(science.joins))):
        join = science.joins[position]
        if join.name not in read:
            message = f"Nothing reads the join {join.name}"
            fix = "Name it as the artifact of a statistic or derived column, or in a join below it, or leave it out"
            yield make_lint_warning("unread", f"{ROOT}/joins/{position}", message, fix)
        read |= {join.left, join.right}
    named = {name for each in science.statistics for name in each.needed_columns}
    for position in reversed(range(len(science.derived) if science.statistics else 0)):  # else by default statistics
        derived = science.derived[position]
        if derived.column not in named:
            message = f"Nothing reads the derived column {derived.column}"
            fix = "Name it in a statistic, in a condition or in an expression below it, or leave it out"
            yield make_lint_warning("unread", f"{ROOT}/derived/{position}", message, fix)
        named |= set(derived.inputs)


def _lint_join_sides(science: Science) -> Iterator[LintWarning]:
    """Warn of joins whose left table agents may give columns of the right table's names."""
    safe, own = {each.name for each in science.data}, _own_tables(science)
    for position, join in enumerate(science.joins):
        if {join.left, join.right} <= safe:
            safe.add(join.name)
        if join.left not in safe and join.right in own:
            message = f"A column that an agent adds to {join.left} replaces the column of that name in {join.right}"
            fix = f"Make {join.right} the left table, and {join.left} the right one"
            yield make_lint_warning("columns_replaceable", f"{ROOT}/joins/{position}/left", message, fix)
