"""Refusals that no JSON Schema can express, each with its reason."""

from collections.abc import Mapping
from typing import Any

from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData

SEMANTIC: Mapping[str, str] = {
    "invalid_cursor": "a cursor is sealed for one query of one principal",
    "invalid_period": "`from` must not come after `to`: two parameters together",
    "too_many_filters": "a list takes at most two of its filters: parameters together",
    "invalid_instant": "an offset may lead out of the years that there are",
    "invalid_json": "NUL, lone surrogates and unsafe integers are refused in every body",
    "malformed_json": "a body of several lines is a text to a schema, and each line is JSON",
    "empty_body": "a body of several lines has a first one",
    "invalid_work": "metrics must be known, criteria must go with the budget, schemas must be schemas",
    "invalid_success_criteria": "thresholds go with comparisons, scales with metrics",
    "invalid_verification": "as in a work: criteria, evaluation and candidate together",
    "cpc_rate_above_max": "the most that a work pays an agent is the work's own",
    "blank_reason": "a reason holds something that can be read",
    "invalid_transaction": "postings sum to zero in each currency, in accounts and currencies that there are",
    "negative_total": "base + bonus − penalty must not be below 0",
    "unknown_artifact": "an artifact that is named by its digest was uploaded before",
    "duplicate_name": "no two artifacts of a candidate bear one name, however much else of them differs",
    "too_many_replays": "candidates that repeat, or follow invalid ones, are rationed for each contract",
    "idempotency_key_reused": "a key that is drawn twice comes with another body",
}
"""By the code of the problem."""
SHAPES: Mapping[str, str] = {
    "int_type": "an integer is written as one: 3.0 is none, though JSON Schema takes it for one",
    "invalid_money": "money is written in plain digits: 1e-05 is refused (spec file 6), and no schema sees the text",
    "unknown_currency": "the codes of ISO 4217 come and go; the document says what they look like",
}
"""By the code of the one kind of error in an `invalid_shape`."""


def filter_failure(_context: HookContext, failure: Failure, _case: Case[Any], response: Response) -> bool:
    return not (isinstance(failure, RejectedPositiveData) and is_explained(response.json()))


def is_explained(problem: Mapping[str, object]) -> bool:
    if problem.get("code") in SEMANTIC:
        return True
    errors = problem.get("errors")
    codes = {each["code"] for each in errors} if isinstance(errors, list) else set()
    return bool(codes) and codes <= SHAPES.keys()
