"""The rule with its packaged thresholds."""

from typing import Any

from aex_governance.rules.config import load_rules
from aex_governance.rules.judge_injection import check
from tests.services.governance.requests import case

THRESHOLDS = load_rules()["judge_injection"].thresholds


def kinds_of(text: str, **thresholds: Any) -> set[str]:
    """Return the kinds of findings in an output."""
    flag = check(case(output_text=text), {**THRESHOLDS, **thresholds})
    return set() if flag is None else set(flag.evidence["counts"])


def is_raised(text: str, **thresholds: Any) -> bool:
    return bool(kinds_of(text, **thresholds))
