"""Verification takes whatever governance answers for a yes: bonuses are paid although it held the outcome."""

from dataclasses import dataclass, replace

from aex_models.governance import Action, ValidationDecision, ValidationRequest
from aex_verification.deps import Deps
from aex_verification.ports import Governance
from tests.simulation.planted.plant import Plant


@dataclass(frozen=True, slots=True)
class _Yes:
    governance: Governance

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        decision = await self.governance.validate(request)
        return decision.model_copy(update={"valid": True, "action": Action.ALLOW})


def _overruling(deps: Deps) -> Deps:
    return replace(deps, governance=_Yes(deps.governance))


OVERRULES_GOVERNANCE = Plant(
    "overrules_governance", "what governance held is paid with its bonus", verification=_overruling
)
