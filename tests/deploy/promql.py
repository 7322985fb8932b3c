"""What PromQL asks for, held against what the services tell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import promql_parser as promql
from prometheus_client.parser import text_string_to_metric_families

PARTS = {"_bucket", "_sum", "_count"}
FOREIGN = ("logging_googleapis_com:", "pubsub_googleapis_com:")
"""Google's own, of which our code says nothing."""
_OVER_TIME = frozenset({"rate", "increase"})
_OPEN = frozenset({"route", "status", "method"})
"""Labels of requests, of which a scrape shows those that there were."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric as a scrape shows it. `labels`: each with the values that were seen."""

    kind: str
    labels: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One selector of a query: what is selected, and what is done with it around it, the innermost first."""

    name: str
    matchers: tuple[promql.Matcher, ...]
    functions: tuple[str, ...]
    grouped_by: tuple[str, ...] | None
    """By the innermost aggregation; None where there is none."""


def figures_in(*scrapes: str) -> dict[str, Figure]:
    """Every metric in some scrapes, by the name under which it is declared."""
    found: dict[str, Figure] = {}
    for scrape in scrapes:
        for family in text_string_to_metric_families(scrape):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            before = found.get(name)
            labels: dict[str, frozenset[str]] = dict(before.labels) if before else {}
            for sample in family.samples:
                for label, value in sample.labels.items():
                    labels[label] = labels.get(label, frozenset()) | {value}
            found[name] = Figure(family.type, {label: labels[label] for label in labels if label != "le"})
    return found


def asked_in(query: str) -> list[Asked]:
    """The selectors of a query. Raises `ValueError` for what is no PromQL."""
    return list(_asked(promql.parse(query), (), None))


def _asked(node: Any, functions: tuple[str, ...], grouped: tuple[str, ...] | None) -> Iterator[Asked]:
    if isinstance(node, promql.VectorSelector):
        yield Asked(str(node.name), tuple(node.matchers.matchers), functions, grouped)
    elif isinstance(node, promql.MatrixSelector):
        yield from _asked(node.vector_selector, functions, grouped)
    elif isinstance(node, promql.Call):
        for each in node.args:
            yield from _asked(each, (node.func.name, *functions), grouped)
    elif isinstance(node, promql.AggregateExpr):
        by = tuple(node.modifier.labels) if node.modifier else ()
        yield from _asked(node.expr, functions, by)
    elif isinstance(node, promql.BinaryExpr):
        yield from _asked(node.lhs, functions, grouped)
        yield from _asked(node.rhs, functions, grouped)
    elif isinstance(node, promql.ParenExpr):
        yield from _asked(node.expr, functions, grouped)
    elif not isinstance(node, promql.NumberLiteral | promql.StringLiteral):
        raise TypeError(f"a query may not hold a {type(node).__name__}")


def problems(query: str, figures: Mapping[str, Figure]) -> list[str]:
    """What is wrong with a query: no such metric or label, a counter without a rate, a gauge or a quantile amiss."""
    return [problem for asked in asked_in(query) for problem in _problems(asked, figures)]


def metrics_in(query: str, figures: Mapping[str, Figure]) -> set[str]:
    """The metrics of ours that a query reads, by the names under which they are declared."""
    return {declared_name(asked.name, figures) for asked in asked_in(query)} & set(figures)


def declared_name(name: str, figures: Mapping[str, Figure]) -> str:
    """`aex_x_seconds` for `aex_x_seconds_bucket`, where that is a histogram's."""
    base, _, part = name.rpartition("_")
    is_part = f"_{part}" in PARTS and base in figures and figures[base].kind == "histogram"
    return base if is_part else name


def _problems(asked: Asked, figures: Mapping[str, Figure]) -> Iterator[str]:
    if asked.name.startswith(FOREIGN):
        return
    name = declared_name(asked.name, figures)
    figure = figures.get(name)
    if figure is None or (figure.kind == "histogram" and name == asked.name):
        yield f"{asked.name}: no such series"
        return
    is_bucket = asked.name.endswith("_bucket")
    known = {*figure.labels, *(("le",) if is_bucket else ())}
    for each in asked.matchers:
        exact = each.op in (promql.MatchOp.Equal, promql.MatchOp.NotEqual)
        if each.name not in known:
            yield f"{asked.name}: no label {each.name}"
        elif exact and not _is_open(asked.name, each.name) and each.value not in figure.labels[each.name]:
            yield f"{asked.name}: {each.name} is never {each.value}"
    for label in asked.grouped_by or ():
        if label not in known:
            yield f"{asked.name}: no label {label}"
    over_time = bool(_OVER_TIME & set(asked.functions))
    if over_time != (figure.kind != "gauge"):
        yield f"{asked.name}: a {figure.kind} {'with' if over_time else 'without'} a rate"
    if is_bucket and ("histogram_quantile" not in asked.functions or "le" not in (asked.grouped_by or ())):
        yield f"{asked.name}: buckets without their quantile by le"


def _is_open(name: str, label: str) -> bool:
    return name.startswith("aex_http_") and label in _OPEN
