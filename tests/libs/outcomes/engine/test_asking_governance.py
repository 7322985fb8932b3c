"""What governance is told of a candidate, and what its word makes of the verdict."""

import pytest

from aex_models.governance import Action, Flag, Severity, ValidationDecision
from aex_models.results import Verdict
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import CandidateFacts
from tests.libs.outcomes.engine.builders import criteria, criterion, money, verify


class Deciding:
    """Governance that always says the same, and remembers what it was told."""

    def __init__(self, action: str) -> None:
        flags = () if action == "allow" else (Flag(rule="velocity", severity=Severity.MAJOR, message="…"),)
        self.decision = ValidationDecision(valid=action == "allow", action=Action(action), flags=flags)
        self.told: list[CandidateFacts] = []

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:
        self.told.append(facts)
        return self.decision


@pytest.mark.parametrize("policy", ["on_success", "per_criterion"])
@pytest.mark.parametrize("action", ["hold", "reject"])
async def test_what_governance_does_not_allow_has_neither_success_nor_bonus(policy: str, action: str) -> None:
    engine = VerificationEngine(governance=Deciding(action))
    wanted = criteria(criterion("output_length", "gte", 1, bonus="3"), bonus_policy=policy)
    found = await verify(wanted, {"text": "abc"}, engine=engine)
    assert (found.verdict, found.success, money(found)) == (Verdict.PASSED, False, (0, 0))
    assert found.governance_flags == ("velocity",)


async def test_governance_is_told_what_the_engine_computed_and_never_the_evaluation_data() -> None:
    governance = Deciding("allow")
    found = await verify(
        criteria(criterion("contains_keywords", "gte", 0.5, metric_type="contains")),
        {"text": "the cat sat on the mat"},
        engine=VerificationEngine(governance=governance),
        evaluation={"reference": "the cat sat on a mat, hush", "required_keywords": ["cat", "hush"]},
        execution_metadata={"duration_ms": 5},
        platform_latency_ms=7.0,
    )
    [facts] = governance.told
    assert found.success
    assert facts.extracted_metrics == {"contains_keywords": 0.5}
    assert facts.output_text == "the cat sat on the mat"
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.rouge_l is not None
    assert 0.7 < facts.reference_similarity.rouge_l < 1
    assert facts.keyword_stats is not None
    assert facts.keyword_stats.found == 1
    assert (facts.execution_metadata, facts.platform_latency_ms) == ({"duration_ms": 5}, 7.0)
    assert "hush" not in str(facts)


async def test_governance_is_not_asked_about_an_indeterminate_verdict_nor_where_it_is_switched_off() -> None:
    governance = Deciding("allow")
    torn = criteria(criterion("platform_latency_ms", "lte", 500))
    assert (await verify(torn, {}, engine=VerificationEngine(governance=governance))).verdict is Verdict.INDETERMINATE
    switched_off = VerificationEngine({"verification": {"governance_check": False}}, governance)
    assert (await verify(None, {}, engine=switched_off)).governance.action is Action.SKIPPED
    assert governance.told == []
