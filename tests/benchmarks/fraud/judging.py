"""Judgement of a population: requests by the engine, decisions by governance's handler."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aex_governance.deps import Deps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import RuleConfig
from aex_models.governance import PreviousAttempt, ValidationDecision, ValidationRequest
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import Assessment, VerificationInput
from aex_outcomes.lifecycle.outputs import output_hash
from aex_runtime.clock import SetClock
from aex_runtime.store.factory import open_store
from aex_runtime.unit_of_work import UnitOfWork
from tests.benchmarks.fraud.population import START, Size, story, story_keys, timeline
from tests.benchmarks.fraud.stories import Attempt, Label, Story


@dataclass(frozen=True, slots=True)
class Judged:
    """An example with its decision."""

    key: str
    label: Label
    decision: ValidationDecision

    @property
    def is_found(self) -> bool:
        """Return whether the expected flag was raised with its severity."""
        flags = self.decision.flags
        return any(flag.rule == self.label.subject and flag.severity is self.label.severity for flag in flags)


async def make_request(engine: VerificationEngine, story: Story, index: int, at: datetime) -> ValidationRequest:
    """Return the request about one attempt, as verification makes it."""
    attempt, name = story.attempts[index], story.key.replace("/", "_")
    forms: dict[str, str] = {}
    judged: list[tuple[str, Mapping[str, Any]]] = []
    for output in attempt.earlier:
        earlier = await _assess(engine, attempt, output, {})
        judged.append((output_hash(output), earlier.result.metrics))
        forms[output_hash(output)] = earlier.facts.structured_form or earlier.facts.output_text or ""
    facts = (await _assess(engine, attempt, attempt.output, forms)).facts
    digest = output_hash(attempt.output)
    similarities = {**facts.similarities, digest: 1.0}
    return ValidationRequest(
        attempt_id=f"att_{name}_{index}",
        contract_id=f"ctr_{name}_{index - attempt.is_retry}",
        work_id=attempt.work.work_id,
        domain=attempt.work.domain,
        agent=attempt.agent,
        consumer=attempt.work.consumer,
        extracted_metrics={**facts.extracted_metrics, **attempt.measured},
        claimed_metrics=dict(attempt.claimed),
        science=attempt.science,
        execution_metadata=dict(attempt.metadata),
        platform_latency_ms=attempt.platform_latency_ms,
        output_text=facts.output_text,
        other_text=facts.other_text,
        output_hash=digest,
        reference_similarity=facts.reference_similarity,
        keyword_stats=facts.keyword_stats,
        previous_attempts=tuple(
            PreviousAttempt(output_hash=each, metrics=dict(metrics), similarity=similarities.get(each))
            for each, metrics in judged
        ),
        received_at=at,
    )


async def _assess(engine: VerificationEngine, attempt: Attempt, output: Any, earlier: Mapping[str, str]) -> Assessment:
    case = VerificationInput(
        contract_id="ctr_1",
        work_input={},
        work_output=output,
        success_criteria=attempt.work.criteria,
        execution_metadata=attempt.metadata,
        evaluation=attempt.work.evaluation,
        verification_id="ver_1",
        verified_at=START,
        platform_latency_ms=attempt.platform_latency_ms,
        reasoning=attempt.reasoning,
        earlier={digest: form for digest, form in earlier.items() if form},
    )
    return await engine.verify_without_governance(case)


async def judge(seed: int, size: Size, rules: Mapping[str, RuleConfig]) -> list[Judged]:
    """Return the labelled attempts of a seed."""
    store, clock, judged = open_store("memory:"), SetClock(START), list[Judged]()
    deps = Deps(UnitOfWork("governance", store, clock, lambda _: None), store, clock, rules)
    engine, limits = VerificationEngine({"caching": {"extractor_results_ttl": 0}}), rules["velocity"].thresholds
    for at, posted, index in timeline([story(key, limits) for key in story_keys(seed, size)]):
        clock.advance(at - clock.now())
        decision = await validate_outcome(deps, await make_request(engine, posted, index, at))
        if label := posted.attempts[index].label:
            judged.append(Judged(posted.key, label, decision))
    await store.close()
    return judged
