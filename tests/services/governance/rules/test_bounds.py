"""However much is sent, what is kept has a bound."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_governance.rules.bounds import LEFT_OUT, MAX_METRICS, bounded, cut, logged
from aex_models.canonical import canonical_bytes
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from aex_runtime.long_values import SHORT, is_longer
from tests.services.governance.asking import asked

MANY = 50_000
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
def test_what_the_log_keeps_of_a_huge_request_fits(changes: dict[str, Any]) -> None:
    assert len(canonical_bytes(logged(asked(**changes)))) < 500_000


def test_an_ordinary_request_is_kept_as_it_is_but_for_its_texts() -> None:
    request = asked(
        claimed_metrics={"rougeL": 0.5},
        execution_metadata={"duration_ms": 900, "model": {"name": "m", "sizes": [1, 2]}},
        science={"mismatches": [{"name": "x", "claimed": 1.0}], "violations": ["mass < 0", {"law": "energy"}]},
        previous_attempts=[{"output_hash": "1" * 64, "metrics": {"rougeL": 0.4}, "similarity": 0.2}],
    )
    texts = {"output_text": "a", "other_text": "b"}
    assert logged(request.model_copy(update=texts)) == request


def test_integers_that_no_store_holds_become_doubles_or_unknown() -> None:
    kept = logged(asked(extracted_metrics={"big": 10**30, "bigger": 10**400}, claimed_metrics={"bigger": 10**400}))
    assert kept.extracted_metrics == {"big": 1e30, "bigger": None}
    assert kept.claimed_metrics == {}


def test_too_many_metrics_are_chosen_by_name() -> None:
    kept = logged(asked(**HUGE["metrics"]))
    assert list(kept.extracted_metrics) == sorted(HUGE["metrics"]["extracted_metrics"])[:MAX_METRICS]


def test_evidence_tells_how_much_was_left_out_and_where() -> None:
    flag = Flag(rule="r", severity=Severity.MAJOR, evidence={"many": list(range(1_000)), "text": "t" * 9_000, "one": 1})
    decision = ValidationDecision(valid=False, action=Action.HOLD, flags=(flag,))
    evidence = bounded(decision).flags[0].evidence
    assert evidence["many"][-1] == {LEFT_OUT: 940}
    assert evidence["text"].endswith("…")
    assert evidence["one"] == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=70) | st.dictionaries(st.text(), inner, max_size=70),
    max_leaves=200,
)


@settings(max_examples=30)
@given(JSON)
def test_whatever_is_cut_can_be_stored_and_is_cut_no_further(value: Any) -> None:
    once = cut(value)
    assert len(canonical_bytes(once)) < 2_500_000
    assert canonical_bytes(cut(once)) == canonical_bytes(once) or LEFT_OUT in str(once)


@pytest.mark.parametrize("changes", HUGE.values(), ids=HUGE)
def test_what_is_huge_is_long_wherever_it_is_huge(changes: dict[str, Any]) -> None:
    assert is_longer(asked(**changes), SHORT)
    assert not is_longer(asked(), SHORT)
