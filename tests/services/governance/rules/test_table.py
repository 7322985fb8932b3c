"""All rules together: what they do is what the contract says, and no request breaks them."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aex_governance.rules.config import load_rules
from aex_governance.rules.decide import decide
from aex_governance.rules.rule import FraudRule
from aex_governance.rules.table import OF_HISTORY, OF_REQUEST, RULES
from aex_governance.rules.text import FreeText, read_text
from aex_models.governance import ValidationRequest
from tests.services.governance.asking import case

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
def test_what_is_done_about_a_flag_is_what_the_contract_says(rule: FraudRule) -> None:
    assert {severity.value: action.value for severity, action in rule.actions.items()} == CONTRACT[rule.name]
    assert rule.description.endswith(".")


def test_the_rules_are_in_the_contracts_order_each_once() -> None:
    names = [rule.name for rule in RULES]
    assert names == [name for name in CONTRACT if name in names]


def test_every_rule_is_run_once_before_the_transaction_or_in_it() -> None:
    assert {rule.name for rule in OF_HISTORY} == {
        "duplicate_output",
        "near_duplicate_output",
        "statistical_outlier",
        "velocity",
    }
    assert sorted(RULES.index(rule) for rule in (*OF_REQUEST, *OF_HISTORY)) == list(range(len(RULES)))


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
ODD_KEYS = st.sampled_from(["duration_ms", "ttfb_ms", "processing_ms", "name", "claimed", "recomputed", "severity"])
ODD = st.dictionaries(ODD_KEYS | st.sampled_from(["relative_error", "x"]), ANYTHING | NUMBERS, max_size=5)
REQUESTS = st.fixed_dictionaries(
    {
        "extracted_metrics": st.dictionaries(NAMES, st.none() | NUMBERS, max_size=5),
        "claimed_metrics": st.dictionaries(NAMES, NUMBERS, max_size=5),
        "science": st.none()
        | st.fixed_dictionaries(
            {"mismatches": st.lists(ODD, max_size=3), "violations": st.lists(st.text(max_size=5) | ODD, max_size=3)}
        ),
        "execution_metadata": ODD,
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


ODD_TEXTS = {
    "nothing": "",
    "blanks": " \n\t" * 60_000,
    "sentences": "a, b. " * 33_000,
    "one word": "x" * 200_000,
    "han": "收" * 200_000,
    "markers": "1. - " * 40_000,
    "signs": "#*-." * 50_000,
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_no_text_breaks_a_rule_or_takes_it_long(text: str) -> None:
    told = {
        "output_text": text,
        "keyword_stats": {"found": 5, "density": 0.5, "list_share": 1},
        "reference_similarity": {"rouge_l": 1, "bleu": 1},
    }
    asked = case(history={"text": FreeText(100_000, is_free=False, sketch=None)}, **told)
    started = time.perf_counter()
    decide(asked, CONFIGS)
    assert time.perf_counter() - started < 15  # tenths of a second; what grows with the square takes minutes


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(REQUESTS)
def test_no_request_breaks_a_rule_and_every_flag_says_why(request: dict[str, Any]) -> None:
    seen: ValidationRequest = case(**request).request
    text = read_text(seen.output_text) if seen.output_text else None
    decision = decide(case(history={"text": text}, **request), CONFIGS)
    for flag in decision.flags:
        assert flag.message
        assert flag.evidence
        json.dumps(flag.model_dump(mode="json"))
    assert decide(case(history={"text": text}, **request), CONFIGS) == decision or "nan" in repr(request)
