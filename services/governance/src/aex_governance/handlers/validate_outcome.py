"""Decide on one attempt, once: a repeated question gets the stored answer."""

from aex_governance.deps import Deps
from aex_governance.repository import VALIDATIONS, ValidationRecord
from aex_governance.rules.case import Case
from aex_governance.rules.decide import decide
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit


async def validate_outcome(deps: Deps, request: ValidationRequest) -> ValidationDecision:
    """The decision on this attempt, made now or before."""
    key = key_of(request.attempt_id)

    async def decide_once(unit: Unit) -> ValidationDecision:
        stored = await unit.get(VALIDATIONS, key)
        if stored is not None:
            return stored.record.decision
        decision = decide(Case(request), deps.rules)
        logged = request.model_copy(update={"output_text": None})
        unit.create(VALIDATIONS, key, ValidationRecord(request=logged, decision=decision, decided_at=unit.now))
        return decision

    return await deps.unit_of_work.run(decide_once)
