"""What a named verifier is told of the agent's side of an attempt."""

from aex_models.contract import Candidate
from aex_models.work import Work
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.state import ContractState
from aex_verification.rules.records import AttemptRow


def agent_context(work: Work, state: ContractState, attempt: AttemptRow, candidate: Candidate) -> AgentContext:
    """What the agent was asked, what it was told last, and how often it has tried.

    A candidate that is verified anew for an operator keeps the number of the attempt in which it was counted.
    """
    before = state.verification.judged.get(attempt.candidate_hash)
    told = [] if state.last_feedback is None else [{"role": "user", "content": state.last_feedback}]
    return AgentContext(
        query=work.input,
        messages=told,
        turn=state.received,
        output=candidate.output,
        attempt=before.ordinal if before else state.verification.attempts_used + 1,
        verification=state.verification,
    )
