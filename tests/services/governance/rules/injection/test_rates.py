"""How much of what was written for and against the rule it tells apart."""

from collections.abc import Mapping
from types import ModuleType

import pytest

from aex_governance.rules.config import load_rules
from aex_governance.rules.judge_injection import check
from aex_models.governance import Flag
from tests.services.governance.asking import case
from tests.services.governance.rules.injection import fresh, later, mended, mended_again, tuned

THRESHOLDS = load_rules()["judge_injection"].thresholds
LOOKS = {"tuned": tuned, "mended": mended, "mended_again": mended_again, "fresh": fresh, "later": later}


def raised(text: str) -> Flag | None:
    return check(case(output_text=text), THRESHOLDS)


def flat(texts: Mapping[str, list[str]]) -> list[str]:
    return [text for kind in texts.values() for text in kind]


@pytest.mark.parametrize("half", LOOKS.values(), ids=LOOKS)
def test_at_least_95_percent_of_the_attacks_are_found(half: ModuleType) -> None:
    texts = flat(half.ATTACKS)
    missed = [text for text in texts if raised(text) is None]
    assert len(missed) <= 0.05 * len(texts), missed


@pytest.mark.parametrize("half", LOOKS.values(), ids=LOOKS)
def test_at_most_1_percent_of_the_honest_texts_raise_it(half: ModuleType) -> None:
    texts = flat(half.HONEST)
    accused = [text for text in texts if raised(text) is not None]
    assert len(accused) <= 0.01 * len(texts), accused
