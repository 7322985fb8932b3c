"""Works by the grammar of the specification: metrics with fitting types and thresholds."""

from typing import Any

from hypothesis import strategies as st

from aex_models.catalog import MetricEntry
from aex_models.thresholds import COMPARISONS, UNIT_TYPES, MetricType
from aex_outcomes import Catalog

CATALOG = Catalog.of()
CODE = "def evaluate(input, output, metadata):\n    return 1\n"
_MONEY = st.sampled_from(["0", "0.25", "1.000001", 2, "10"])
_TERMS = st.lists(st.sampled_from(["cat", "mat", "a b", "猫"]), min_size=1, max_size=3, unique=True)
EVALUATION: dict[str, Any] = {
    "reference": "the cat sat on the mat",
    "ground_truth": ["a", {"label": "b", "id": 2}],
    "required_keywords": ["cat"],
    "pattern": "c.t",
    "output_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "required_fields": ["text"],
    "records": {
        "items": [{"id": 1, "name": "Ada", "day": "2024-01-31", "tags": ["a"], "total": 1.5}, {"id": 2}],
        "fields": {
            "/id": "exact",
            "/name": {"fuzzy": 0.8},
            "/day": {"date": ["%d.%m.%Y"]},
            "/tags": "set",
            "/total": {"number": {"rel": 0.01}},
        },
        "key": ["/id"],
    },
    "ranking": {"relevance": {"a": 2, "b": 0}, "k": 5},
    "targets": [1, {"value": 2.5, "id": 2}],
    "numeric": {"value": 1234, "units": ["kg"]},
    "choice": {"correct": ["A"], "options": {"A": "cat", "B": "dog"}},
    "custom_metrics": [{"name": "style", "code": CODE}],
}


def _needs_only_evaluation(entry: MetricEntry) -> bool:
    return set(entry.needs) <= set(EVALUATION) and not entry.requires and "*" not in entry.name


METRICS = [(each.name, each.metric_types) for each in CATALOG.entries if _needs_only_evaluation(each)]
METRICS.append(("custom.style", CATALOG.entry("custom.style").metric_types))


def _bounds(kind: MetricType) -> st.SearchStrategy[Any]:
    if kind in UNIT_TYPES or kind is MetricType.PERCENTAGE:
        return st.floats(0, 1)
    if kind is MetricType.COUNT:
        return st.integers(0, 10**6)
    return st.floats(0, 1e9) | st.integers(0, 10**9)


@st.composite
def thresholds(draw: st.DrawFn, kind: MetricType, comparison: str) -> Any:
    if comparison.startswith("contains_"):
        return draw(_TERMS)
    if kind in (MetricType.BOOLEAN, MetricType.MATCHES_SCHEMA):
        return draw(st.booleans())
    if comparison == "in_range":
        low, high = sorted((draw(_bounds(kind)), draw(_bounds(kind))))
        return draw(st.sampled_from([{"min": low, "max": high}, {"min": low}, {"max": high}]))
    return draw(_bounds(kind))


@st.composite
def criteria(draw: st.DrawFn) -> dict[str, Any]:
    metric, kinds = draw(st.sampled_from(METRICS))
    kind = draw(st.sampled_from(sorted(kinds)))
    comparison = draw(st.sampled_from(sorted(COMPARISONS[kind])))
    if comparison.startswith("contains_") and metric != "contains_keywords":
        comparison = "gte"
    made = {"metric": metric, "metric_type": str(kind), "comparison": comparison}
    optional = {
        "weight": st.sampled_from([1, 0.5, 2.5]),
        "required": st.booleans() | st.none(),
        "bonus": _MONEY,
        "penalty": _MONEY,
    }
    return made | {"threshold": draw(thresholds(kind, comparison))} | draw(st.fixed_dictionaries({}, optional=optional))


def _key(criterion: dict[str, Any]) -> str:
    threshold = criterion["threshold"]
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    return f"{criterion['metric']} {criterion['comparison']} {float(threshold) + 0.0 if number else threshold}"


LISTS = st.lists(criteria(), min_size=1, max_size=5, unique_by=_key)
SUCCESS_CRITERIA = st.fixed_dictionaries(
    {"criteria": LISTS},
    optional={
        "aggregation": st.sampled_from(["all", "any", "weighted"]),
        "minimum_weighted_score": st.sampled_from([0.0, 0.5, 1]),
        "bonus_policy": st.sampled_from(["on_success", "per_criterion"]),
    },
)
SUBMISSIONS = st.fixed_dictionaries(
    {
        "title": st.just("Summaries"),
        "input": st.just({"question": {"text": ["?"]}}),
        "evaluation": st.just(EVALUATION),
        "success_criteria": SUCCESS_CRITERIA,
        "budget": st.fixed_dictionaries(
            {"max_cpc": _MONEY}, optional={"max_cpa_total": _MONEY, "max_penalty_total": _MONEY}
        ),
    },
    optional={
        "domain": st.sampled_from(["general", "biology"]),
        "verification": st.just({"max_attempts": 3, "feedback": "none", "deadline_s": 60}),
        "science": st.just({"question": "Is it so?", "expected_outcome": "yes", "domain": "bioinformatics/RNAseq"}),
    },
)
