"""Bounds of logged requests, evidence and reasons."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_governance.rules.evidence import (
    LEFT_OUT,
    MAX_METRICS,
    MAX_REASON,
    require_valid_reason,
    truncate_decision,
    truncate_json_value,
    truncate_request_for_log,
)
from aex_models.canonical import canonical_bytes
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from aex_runtime.errors import InvalidRequest
from aex_runtime.yielding import SHORT, is_larger_than
from tests.examples import examples
from tests.services.governance.requests import validation_request

MANY = 30_000
HUGE: dict[str, dict[str, Any]] = {
    "metrics": {"extracted_metrics": {f"m{number}": number / 7 for number in range(MANY)}},
    "long names": {"extracted_metrics": {"m" * 100_000: 1.0, "n" * 100: 2.0}},
    "claims": {"claimed_metrics": {f"m{number}": number for number in range(MANY)}},
    "metadata": {"execution_metadata": {f"k{number}": [[["v" * 500] * 60] * 60] for number in range(60)}},
    "one long text": {"execution_metadata": {"k": "v" * 5_000_000}},
    "mismatches": {"science": {"mismatches": [{"name": "x" * 900, "claimed": 1}] * MANY}},
    "violations": {"science": {"violations": ["x" * 900] * MANY}},
    "attempts": {
        "previous_attempts": [{"output_hash": "0" * 64, "metrics": dict.fromkeys(map(str, range(900)), 1.0)}] * 500
    },
    "texts": {"output_text": "t" * 5_000_000, "other_text": "t" * 5_000_000},
    "a long domain": {"domain": "d" * 1_000_000},
}


@pytest.mark.parametrize("changes", HUGE.values(), ids=HUGE)
def test_huge_request_is_read_in_a_thread_and_logged_within_bounds(changes: dict[str, Any]) -> None:
    request = validation_request(**changes)
    assert is_larger_than(request, SHORT)
    assert not is_larger_than(validation_request(), SHORT)
    assert len(canonical_bytes(truncate_request_for_log(request))) < 500_000


def test_ordinary_request_is_logged_without_texts() -> None:
    request = validation_request(
        claimed_metrics={"rougeL": 0.5},
        execution_metadata={"duration_ms": 900, "model": {"name": "m", "sizes": [1, 2]}},
        science={"mismatches": [{"name": "x", "claimed": 1.0}], "violations": ["mass < 0", {"law": "energy"}]},
        previous_attempts=[{"output_hash": "1" * 64, "metrics": {"rougeL": 0.4}, "similarity": 0.2}],
    )
    texts = {"output_text": "a", "other_text": "b"}
    assert truncate_request_for_log(request.model_copy(update=texts)) == request


def test_huge_integers_become_floats_or_unknown() -> None:
    logged = truncate_request_for_log(
        validation_request(extracted_metrics={"big": 10**30, "bigger": 10**400}, claimed_metrics={"bigger": 10**400})
    )
    assert logged.extracted_metrics == {"big": 1e30, "bigger": None}
    assert logged.claimed_metrics == {}


def test_metrics_are_limited_by_name() -> None:
    logged = truncate_request_for_log(validation_request(**HUGE["metrics"]))
    assert list(logged.extracted_metrics) == sorted(HUGE["metrics"]["extracted_metrics"])[:MAX_METRICS]


def test_evidence_counts_removed_parts() -> None:
    flag = Flag(rule="r", severity=Severity.MAJOR, evidence={"many": list(range(1_000)), "text": "t" * 9_000, "one": 1})
    decision = ValidationDecision(valid=False, action=Action.HOLD, flags=(flag,))
    evidence = truncate_decision(decision).flags[0].evidence
    assert evidence["many"][-1] == {LEFT_OUT: 940}
    assert evidence["text"].endswith("…")
    assert evidence["one"] == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=70) | st.dictionaries(st.text(), inner, max_size=70),
    max_leaves=80,
)


@settings(max_examples=examples(30))
@given(JSON)
def test_bounding_is_storable_and_idempotent(value: Any) -> None:
    once = truncate_json_value(value)
    assert len(canonical_bytes(once)) < 2_500_000
    assert canonical_bytes(truncate_json_value(once)) == canonical_bytes(once) or LEFT_OUT in str(once)


def test_reason_has_visible_text_of_bounded_length() -> None:
    for reason in ("copied", "引用です", "  5 ", "👍", "x" * MAX_REASON):
        assert require_valid_reason(reason) == reason.strip()
    with pytest.raises(InvalidRequest, match="reason_too_long"):
        require_valid_reason("x" * (MAX_REASON + 1))
    for reason in ("", "\n\t", "\u200b\u2060", "\u00a0\u3000", "\u202e \u00ad"):
        with pytest.raises(InvalidRequest) as refused:
            require_valid_reason(reason)
        assert (refused.value.code, refused.value.errors[0].path) == ("blank_reason", "/reason")
