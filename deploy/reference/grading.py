"""Sections of the reference on grading: metrics, comparisons, the keys of works, and science."""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from aex_models import examination
from aex_models.catalog import MetricEntry
from aex_models.domains import Domain
from aex_models.statistics import FilterOp, Statistic
from aex_models.thresholds import COMPARISONS, ComparisonOperator, MetricType
from aex_models.work import WorkSubmission
from aex_outcomes.catalog import Catalog
from deploy.reference.fields import (
    NONE,
    describe_constants,
    describe_members,
    is_listed,
    sentence,
    walk_enums,
    walk_fields,
)
from deploy.reference.tables import Section, table, table_of_keys

_METRICS = """\
What criteria can name. `GET /v1/metrics/catalog` also lists the metrics of your own extractors. Values of secret
metrics are computed from evaluation data."""
_METRIC_COLUMNS = ("metric", "metric types", "unit", "range", "better", "source", "needs", "meaning")
_WORK = """\
The body of `POST /v1/work`, and the files of `aex lint` and `aex verify`. A file of criteria has the keys below
`success_criteria`."""
_CHECKS = "The entries of `science.checks`. The checks of a domain apply to its score column."
_DOMAINS = "The packaged domains. `aex domains show NAME` prints ranges, columns and statistics."


def list_grading() -> Iterator[Section]:
    """Yield what is measured, how it is compared, and what a work can demand."""
    catalog = Catalog.of()
    yield Section("Metrics", _METRICS, table(_METRIC_COLUMNS, map(_metric_cells, catalog.entries)))
    yield Section("Metric types", "`metric_type` of a criterion.", table(("type", "comparisons", "value"), _types()))
    comparisons = describe_members(ComparisonOperator)
    yield Section("Comparisons", "`comparison` of a criterion.", _meanings("comparison", comparisons))
    yield Section("Keys of a work", _WORK, table_of_keys(walk_fields(WorkSubmission)))
    yield Section("Values of these keys", "", table(("key", "value", "meaning"), _values()))
    checks = [*_general_checks(), *_domain_checks(catalog)]
    yield Section("Science checks", _CHECKS, table(("check", "domain", "meaning"), checks))
    yield Section("Statistics", "`stat` of a statistic.", _meanings("stat", describe_members(Statistic)))
    yield Section("Filters of rows", "`op` of an entry of `where`.", _meanings("op", describe_members(FilterOp)))
    domains = ((f"`{each.name}`", _names(each.aliases), each.description) for each in catalog.domains.domains)
    yield Section("Scientific domains", _DOMAINS, table(("domain", "other names", "meaning"), domains))
    yield Section("Keys of a domain", "A domain is one YAML file.", table_of_keys(walk_fields(Domain)))


def _metric_cells(entry: MetricEntry) -> tuple[str, ...]:
    least, most = (NONE if end is None else f"{end:g}" for end in entry.range)
    return (
        f"`{entry.name}`",
        _names(entry.metric_types),
        entry.unit,
        NONE if entry.range == (None, None) else f"{least} to {most}",
        NONE if entry.direction == "none" else entry.direction,
        entry.provenance.replace("_", "-") + (", secret" if entry.secret else ""),
        _names([*(f"evaluation.{name}" for name in entry.needs), *entry.requires]),
        sentence(entry.description, f"the catalogue's entry of {entry.name}"),
    )


def _types() -> Iterator[tuple[str, ...]]:
    for name, text in describe_members(MetricType).items():
        taken = COMPARISONS[MetricType(name)]
        yield f"`{name}`", _names([each for each in ComparisonOperator if each in taken]), text


def _values() -> Iterator[tuple[str, ...]]:
    keys: dict[type[Enum], str] = {}
    for key, kind in walk_enums(WorkSubmission):
        keys.setdefault(kind, key)
    for kind, key in keys.items():
        if not is_listed(kind):
            yield from ((f"`{key}`", f"`{name}`", text) for name, text in describe_members(kind).items())


def _general_checks() -> Iterator[tuple[str, ...]]:
    for name, text in describe_constants(examination, examination.CHECKS).items():
        default = " Demanded unless the work says otherwise." if name in examination.DEFAULT_CHECKS else ""
        yield f"`{name}`", "any", text + default


def _domain_checks(catalog: Catalog) -> Iterator[tuple[str, ...]]:
    for domain in catalog.domains.domains:
        for check in domain.sanity_checks:
            yield f"`{check.name}`", f"`{domain.name}`", check.description


def _meanings(column: str, meanings: Mapping[str, str]) -> str:
    return table((column, "meaning"), ((f"`{name}`", text) for name, text in meanings.items()))


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names) or NONE
