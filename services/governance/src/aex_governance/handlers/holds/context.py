"""What an operator wants to know beside a hold: the attempt, the agent, other holds, and what comes next."""

import asyncio
from dataclasses import dataclass

from aex_governance.deps import Deps
from aex_governance.handlers.holds.queue import Related, next_waiting, of_agent, of_contract
from aex_governance.handlers.read_profile import ProfilePage, read_profile
from aex_governance.repository.log import VALIDATIONS
from aex_governance.rules.projection.records import ValidationRecord
from aex_models.governance import Hold
from aex_runtime.identity.principal import Principal
from aex_runtime.store.keys import key_of

DOMAINS = 20
"""Of an agent's record that are shown."""
MOST_DOMAINS = 300
"""Of it that are read: consumers name domains as they like, and the page has to come."""


@dataclass(frozen=True, slots=True)
class HoldContext:
    """All of it. `record` is None where governance was never asked about the attempt."""

    record: ValidationRecord | None
    contract: Related
    agent: Related
    profile: ProfilePage | None
    """The agent's record, its first domains; None where the agent is not known."""
    following: Hold | None
    """The hold to look at next; None where no other waits."""


async def read_context(deps: Deps, operator: Principal, hold: Hold) -> HoldContext:
    """Read it, at once."""
    record, contract, agent, profile, following = await asyncio.gather(
        VALIDATIONS.get(deps.store, key_of(hold.attempt_id)),
        of_contract(deps, hold),
        of_agent(deps, hold),
        _profile(deps, operator, hold),
        next_waiting(deps, hold),
    )
    return HoldContext(record.record if record else None, contract, agent, profile, following)


async def _profile(deps: Deps, operator: Principal, hold: Hold) -> ProfilePage | None:
    if hold.agent_id is None:
        return None
    return await read_profile(deps, operator, hold.agent_id, None, DOMAINS, MOST_DOMAINS)
