"""From a candidate to the question that governance gets: by the real engine, as verification puts it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from aex_models.governance import PreviousAttempt, ValidationRequest
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import Assessment, Case
from aex_outcomes.lifecycle.hashing import output_hash
from tests.benchmarks.fraud.population import Moment
from tests.benchmarks.fraud.story import Attempt


class Asking:
    """Judges candidates, and makes a validation request of each."""

    def __init__(self) -> None:
        self._engine = VerificationEngine({"caching": {"extractor_results_ttl": 0}})

    async def request(self, moment: Moment) -> ValidationRequest:
        """The request about one attempt."""
        attempt, attempt_id = moment.story.attempts[moment.place], moment.story.attempt_id(moment.place)
        forms: dict[str, str] = {}
        judged: list[tuple[str, Mapping[str, Any]]] = []
        for output in attempt.earlier:
            earlier = await self._assessed(attempt, output, {}, moment.at)
            digest = output_hash(output)
            judged.append((digest, earlier.result.metrics))
            form = earlier.facts.structured_form or earlier.facts.output_text
            if form:
                forms[digest] = form
        facts = (await self._assessed(attempt, attempt.output, forms, moment.at)).facts
        digest = output_hash(attempt.output)
        contract = moment.story.attempt_id(moment.place - attempt.again).replace("att_", "ctr_", 1)
        return ValidationRequest(
            attempt_id=attempt_id,
            contract_id=contract,
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
                PreviousAttempt(
                    output_hash=each,
                    metrics=dict(metrics),
                    similarity=1.0 if each == digest else facts.similarities.get(each),
                )
                for each, metrics in judged
            ),
            received_at=moment.at,
        )

    async def _assessed(self, attempt: Attempt, output: Any, earlier: Mapping[str, str], at: datetime) -> Assessment:
        case = Case(
            contract_id="ctr_1",
            work_input=attempt.work.given,
            work_output=output,
            success_criteria=attempt.work.criteria,
            execution_metadata=attempt.metadata,
            evaluation=attempt.work.evaluation,
            verification_id="ver_1",
            verified_at=at,
            platform_latency_ms=attempt.platform_latency_ms,
            reasoning=attempt.reasoning,
            earlier=earlier,
        )
        return await self._engine.assess(case)
