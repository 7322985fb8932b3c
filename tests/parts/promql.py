"""PromQL queries compared with the metrics that the services expose."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import promql_parser as promql
from prometheus_client.parser import text_string_to_metric_families

FOREIGN = ("logging_googleapis_com:", "pubsub_googleapis_com:")
"""Prefixes of Google's own metrics."""
_PARTS = {"bucket", "sum", "count"}
_OVER_TIME = frozenset({"rate", "increase"})
_REQUEST_LABELS = frozenset({"route", "status", "method"})
"""A scrape shows only the values of requests so far."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a scrape; `labels`: each with the values in the scrape."""

    kind: str
    labels: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Selector:
    """Selector of a query, its functions (innermost first) and its innermost grouping."""

    name: str
    matchers: tuple[promql.Matcher, ...]
    functions: tuple[str, ...]
    grouped_by: tuple[str, ...]


def parse_metrics(*scrapes: str) -> dict[str, Metric]:
    found: dict[str, Metric] = {}
    for family in (family for scrape in scrapes for family in text_string_to_metric_families(scrape)):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = dict(found[name].labels) if name in found else {}
        for label, value in (item for sample in family.samples for item in sample.labels.items() if item[0] != "le"):
            labels[label] = labels.get(label, frozenset()) | {value}
        found[name] = Metric(family.type, labels)
    return found


def parse_selectors(query: str) -> list[Selector]:
    """Return the selectors of a query. Raises `ValueError` when it is not PromQL."""
    return list(_walk(promql.parse(query), (), ()))


def _walk(node: Any, functions: tuple[str, ...], grouped: tuple[str, ...]) -> Iterator[Selector]:
    match node:
        case promql.VectorSelector():
            yield Selector(str(node.name), tuple(node.matchers.matchers), functions, grouped)
        case promql.MatrixSelector():
            yield from _walk(node.vector_selector, functions, grouped)
        case promql.Call():
            for each in node.args:
                yield from _walk(each, (node.func.name, *functions), grouped)
        case promql.AggregateExpr():
            yield from _walk(node.expr, functions, tuple(node.modifier.labels) if node.modifier else ())
        case promql.BinaryExpr():
            yield from _walk(node.lhs, functions, grouped)
            yield from _walk(node.rhs, functions, grouped)
        case promql.ParenExpr():
            yield from _walk(node.expr, functions, grouped)
        case promql.NumberLiteral() | promql.StringLiteral():
            return
        case _:
            raise TypeError(f"a query may not hold a {type(node).__name__}")


def find_problems(query: str, metrics: Mapping[str, Metric]) -> list[str]:
    """Return unknown series and labels, and functions that do not suit a metric's kind."""
    return [problem for selector in parse_selectors(query) for problem in _check(selector, metrics)]


def find_metrics(query: str, metrics: Mapping[str, Metric]) -> set[str]:
    return {_declared_name(selector.name, metrics) for selector in parse_selectors(query)} & set(metrics)


def _declared_name(name: str, metrics: Mapping[str, Metric]) -> str:
    base, _, part = name.rpartition("_")
    return base if part in _PARTS and base in metrics and metrics[base].kind == "histogram" else name


def _check(selector: Selector, metrics: Mapping[str, Metric]) -> Iterator[str]:
    if selector.name.startswith(FOREIGN):
        return
    name = _declared_name(selector.name, metrics)
    metric = metrics.get(name)
    if metric is None or (metric.kind == "histogram" and name == selector.name):
        yield f"{selector.name}: no such series"
        return
    is_bucket = selector.name.endswith("_bucket")
    known = {*metric.labels, *(("le",) if is_bucket else ())}
    for label in (*(each.name for each in selector.matchers), *selector.grouped_by):
        if label not in known:
            yield f"{selector.name}: no label {label}"
    for each in selector.matchers:
        is_exact = each.op in (promql.MatchOp.Equal, promql.MatchOp.NotEqual)
        is_open = name.startswith("aex_http_") and each.name in _REQUEST_LABELS
        if is_exact and not is_open and each.value not in metric.labels.get(each.name, {each.value}):
            yield f"{selector.name}: {each.name} is never {each.value}"
    has_rate = bool(_OVER_TIME & set(selector.functions))
    if has_rate != (metric.kind != "gauge"):
        yield f"{selector.name}: a {metric.kind} {'with' if has_rate else 'without'} a rate"
    if is_bucket and ("histogram_quantile" not in selector.functions or "le" not in selector.grouped_by):
        yield f"{selector.name}: buckets without their quantile by le"
