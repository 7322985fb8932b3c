"""Table of rules: actions, order, and any request."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aex_governance.rules.case import FraudRule
from aex_governance.rules.config import load_rules
from aex_governance.rules.table import HISTORY_RULES, REQUEST_RULES, RULES, decide
from aex_governance.text.free_text import FreeText, read_text
from aex_models.governance import ValidationRequest
from tests.examples import examples
from tests.services.governance.requests import case

CONTRACT = {
    "metric_out_of_bounds": {"critical": "reject"},
    "claimed_metric_mismatch": {"minor": "allow", "major": "hold", "critical": "reject"},
    "claimed_value_mismatch": {"minor": "allow", "major": "hold", "critical": "hold"},
    "domain_violation": {"critical": "hold"},
    "latency_impossible": {"major": "hold"},
    "duplicate_output": {"minor": "allow", "critical": "hold"},
    "near_duplicate_output": {"major": "hold"},
    "reference_copy": {"critical": "hold"},
    "keyword_stuffing": {"major": "hold"},
    "score_probing": {"major": "hold"},
    "judge_injection": {"major": "hold"},
    "self_dealing": {"critical": "hold"},
    "statistical_outlier": {"minor": "allow"},
    "velocity": {"major": "hold"},
}
CONFIGS = load_rules()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_actions_match_the_contract(rule: FraudRule) -> None:
    assert {severity.value: action.value for severity, action in rule.actions.items()} == CONTRACT[rule.name]
    assert rule.description.endswith(".")


def test_rules_are_in_the_order_of_the_contract() -> None:
    names = [rule.name for rule in RULES]
    assert names == [name for name in CONTRACT if name in names]


def test_every_rule_reads_request_or_history() -> None:
    assert {rule.name for rule in HISTORY_RULES} == {
        "duplicate_output",
        "near_duplicate_output",
        "statistical_outlier",
        "velocity",
    }
    assert sorted(RULES.index(rule) for rule in (*REQUEST_RULES, *HISTORY_RULES)) == list(range(len(RULES)))


NAMES = st.sampled_from(["accuracy", "rougeL", "latency_ms", "custom.x", "stat.mean", "num_steps", "x"])
NUMBERS = st.one_of(
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(),
    st.sampled_from([10**400, -(10**20)]),
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIGURES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(["a", "b.", "\n", ",", "收入", "7", "# x"]), max_size=60).map(
    " ".join
)
RECORD_KEYS = st.sampled_from(["duration_ms", "ttfb_ms", "processing_ms", "name", "claimed", "recomputed", "severity"])
RECORDS = st.dictionaries(RECORD_KEYS | st.sampled_from(["relative_error", "x"]), ANYTHING | NUMBERS, max_size=5)
REQUESTS = st.fixed_dictionaries(
    {
        "extracted_metrics": st.dictionaries(NAMES, st.none() | NUMBERS, max_size=5),
        "claimed_metrics": st.dictionaries(NAMES, NUMBERS, max_size=5),
        "science": st.none()
        | st.fixed_dictionaries(
            {
                "mismatches": st.lists(RECORDS, max_size=3),
                "violations": st.lists(st.text(max_size=5) | RECORDS, max_size=3),
            }
        ),
        "execution_metadata": RECORDS,
        "platform_latency_ms": FIGURES,
        "output_text": st.none() | TEXTS,
        "other_text": st.none() | TEXTS,
        "reference_similarity": st.none() | st.fixed_dictionaries({"rouge_l": FIGURES, "bleu": FIGURES}),
        "keyword_stats": st.none()
        | st.fixed_dictionaries(
            {
                "found": st.integers(-5, 50),
                "density": st.floats(allow_nan=False, allow_infinity=False),
                "list_share": st.floats(allow_nan=False, allow_infinity=False),
            }
        ),
        "previous_attempts": st.lists(
            st.fixed_dictionaries(
                {
                    "output_hash": st.integers(0, 5).map(lambda each: f"{each:064x}"),
                    "metrics": st.dictionaries(NAMES, NUMBERS, max_size=3),
                    "similarity": st.none() | st.floats(0.8, 1),
                }
            ),
            max_size=8,
        ),
    }
)


EXTREME_TEXTS = {
    "nothing": "",
    "blanks": " \n\t" * 60_000,
    "sentences": "a, b. " * 33_000,
    "one word": "x" * 200_000,
    "han": "收" * 200_000,
    "markers": "1. - " * 40_000,
    "signs": "#*-." * 50_000,
}


@pytest.mark.parametrize("text", EXTREME_TEXTS.values(), ids=EXTREME_TEXTS)
def test_extreme_texts_take_linear_time(text: str) -> None:
    fields = {
        "output_text": text,
        "keyword_stats": {"found": 5, "density": 0.5, "list_share": 1},
        "reference_similarity": {"rouge_l": 1, "bleu": 1},
    }
    current = case(history={"text": FreeText(100_000, is_free=False, sketch=None)}, **fields)
    started = time.perf_counter()
    decide(current, CONFIGS)
    assert time.perf_counter() - started < 15  # tenths of a second; what grows with the square takes minutes


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(REQUESTS)
def test_any_request_is_decided_with_evidence(request: dict[str, Any]) -> None:
    parsed: ValidationRequest = case(**request).request
    text = read_text(parsed.output_text) if parsed.output_text else None
    decision = decide(case(history={"text": text}, **request), CONFIGS)
    for flag in decision.flags:
        assert flag.message
        assert flag.evidence
        json.dumps(flag.model_dump(mode="json"))
    assert decide(case(history={"text": text}, **request), CONFIGS) == decision or "nan" in repr(request)
