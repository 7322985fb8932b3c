"""The candidates of a contract that were judged before one of them."""

from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.store.keys import key_of
from aex_verification.deps import Deps
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.records import AttemptRow


async def earlier_attempts(
    deps: Deps, state: ContractState, attempt: AttemptRow, latest: int | None = None
) -> list[AttemptRow]:
    """The attempts that they were judged in, the oldest first; `latest`: no more than so many.

    The same whenever it is asked: what was judged once keeps its place, also where an operator has it verified anew.
    """
    judged = state.verification.judged
    own = judged.get(attempt.candidate_hash)
    before = [
        each
        for candidate_hash, each in judged.items()
        if candidate_hash != attempt.candidate_hash and (own is None or each.ordinal < own.ordinal)
    ]
    ordered = sorted(before, key=lambda each: each.ordinal)[-latest if latest else 0 :]
    if not ordered:
        return []
    found = await ATTEMPTS.get_many(deps.store, [key_of(each.attempt_id) for each in ordered])
    return [each for each in found if each is not None]
