"""Marked evaluation data, and the scanner that finds the marks again, however they are written."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.e2e.jobs import REFERENCE

MARKS: Mapping[str, str] = {
    "reference": "zqxreferencebird",
    "label": "zqxlabelbird",
    "label id": "zqxidbird",
    "number label": "735194628013",
    "keyword": "zqxkeywordbird",
    "pattern": "zqxpatternbird",
    "schema": "zqxschemabird",
    "schema property": "zqxpropertybird",
    "schema number": "918273645019",
    "field": "zqxfieldbird",
    "expected outcome": "zqxoutcomebird",
    "target": "648201759333",
    "unit": "zqxunitbird",
    "option": "zqxoptionbird",
    "record": "zqxrecordbird",
    "ranked id": "zqxrankedbird",
    "table": "zqxtablebird",
    "table cell": "zqxtablecellbird",
    "named reference": "zqxnamedbird",
}
"""A canary for each kind of evaluation data."""

EVALUATION: Mapping[str, Any] = {
    "reference": [f"{REFERENCE} {MARKS['reference']}", "Another account of the long debate and the budget"],
    "ground_truth": [
        {"label": "yes", "id": "a"},
        {"label": MARKS["label"], "id": MARKS["label id"]},
        {"label": int(MARKS["number label"]), "id": "c"},
    ],
    "required_keywords": ["committee", "libraries", MARKS["keyword"]],
    "pattern": f"(debate|{MARKS['pattern']}) in",
    "output_schema": {
        "type": "object",
        "description": MARKS["schema"],
        "properties": {MARKS["schema property"]: {"maximum": int(MARKS["schema number"])}},
    },
    "required_fields": ["text", MARKS["field"]],
    "numeric": {"value": int(MARKS["target"]), "units": [MARKS["unit"]]},
    "choice": {"correct": "A", "options": {"A": MARKS["option"]}},
    "records": {"items": [{"name": MARKS["record"]}], "fields": {"/name": "exact"}},
    "ranking": {"relevance": {MARKS["ranked id"]: 1}},
    "targets": [int(MARKS["target"])],
    "sql": {
        "tables": {MARKS["table"]: {"columns": {"a": "VARCHAR"}, "rows": [[MARKS["table cell"]]]}},
        "expected": {"columns": ["a"], "rows": [[MARKS["table cell"]]]},
    },
    "named": {
        "votes": {"targets": [int(MARKS["target"])], "at": "/counts"},
        "title": {"reference": MARKS["named reference"], "at": "/title"},
    },
}
SCIENCE: Mapping[str, Any] = {
    "question": "What was decided?",
    "expected_outcome": {"answer": ["carried", MARKS["expected outcome"]]},
    "output_constraints": {"votes": {"min": 0}},
    "statistics": [{"name": "mean_votes", "stat": "mean", "column": "votes"}],
    "checks": ["value_ranges", "recompute_statistics", "peer_review"],
}
"""Demands that every candidate of the story meets."""
DATA_MARKS: Mapping[str, str] = {"cell": "zqxcellbird", "column": "zqxcolumnbird", "number": "7351.94628013"}
"""A canary for each part of the consumer's own data."""
DATA = f"{DATA_MARKS['column']},votes\n{DATA_MARKS['cell']},{DATA_MARKS['number']}\nplain,7353.94628013\n".encode()
DATA_MEAN = "7352.946"
"""First digits of the recomputed mean of its votes."""
CLAIMED: Mapping[str, float] = {"mean_votes": 7353}
"""Claims of an honest agent."""
REVIEW_MARKS: Mapping[str, str] = {"reasoning": "zqxreasonbird", "issue": "zqxissuebird"}
"""A canary in each kind of thing that the reviewer says in words."""
REVIEWER_KEY = "zqxreviewerkeybird"
"""Key of the reviewer's server."""
PREDICTIONS = ["yes", "no", "no"]
_PLAIN = {"bonus": "0.01", "penalty": "0.01"}
CRITERIA: Mapping[str, Any] = {
    "aggregation": "weighted",
    "minimum_weighted_score": 0.5,
    "criteria": [
        {"metric": metric, "metric_type": kind, "comparison": comparison, "threshold": threshold, **_PLAIN}
        for metric, kind, comparison, threshold in (
            ("rougeL", "rouge_score", "gte", 0.4),
            ("bleu_score", "bleu_score", "gte", 0.2),
            ("accuracy", "accuracy", "gte", 0.3),
            ("f1_score", "f1_score", "gte", 0.9),
            ("contains_keywords", "contains", "gte", 0.5),
            ("matches_pattern", "boolean", "eq", True),
            ("matches_schema", "matches_schema", "eq", True),
            ("has_required_fields", "boolean", "eq", True),
            ("word_count", "count", "gte", 4),
            ("mae.votes", "numeric", "gte", 0),
        )
    ],
}
"""Criteria for each kind of evaluation data, and one without. A decent text meets most of them."""


class Found(NamedTuple):
    """A mark where none may be."""

    mark: str
    location: str
    near: str


def scan(locations: Iterable[tuple[str, str]], marks: Mapping[str, str]) -> list[Found]:
    """Every mark in every place (name, text): as it is, in any case, in hex, and in base64 at any offset."""
    forms = [(name, form) for name, mark in marks.items() for form in _forms(mark)]
    found = []
    for location, text in locations:
        folded = text.casefold()
        for name, form in forms:
            at = folded.find(form)
            if at >= 0:
                found.append(Found(name, location, text[max(at - 60, 0) : at + len(form) + 20]))
    return found


def _forms(mark: str) -> set[str]:
    raw = mark.encode()
    return {form.casefold() for form in (mark, raw.hex(), *(_inner_base64(raw, offset) for offset in range(3)))}


def _inner_base64(raw: bytes, offset: int) -> str:
    """Return the base64 of the mark after `offset` bytes, without characters that depend on neighbours."""
    complete = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
    return complete[(0, 2, 3)[offset] : len(complete) - (1 if (offset + len(raw)) % 3 else 0)]
