"""What verification remembers of a contract and of its attempts."""

from typing import Any

from aex_models.contract import AttemptStatus
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.results import Verdict, VerificationResult
from aex_models.work import Problem
from aex_outcomes.lifecycle.ruling import Rejected
from aex_outcomes.lifecycle.state import ContractState


class ContractRow(Frozen):
    """One contract: whose it is, and its state. Small, because every step rewrites it."""

    contract_id: str
    work_id: str
    consumer_id: str
    agent_id: str
    awarded_at: Instant
    state: ContractState
    events: int = 0
    """How many contract events there are: the `seq` of the last one."""
    traceparent: str | None = None
    """W3C trace context of its opening: what is done about it later, in nobody else's trace, belongs there."""


class Facts(Frozen):
    """What governance needs to know of a candidate and may not compute: it never sees evaluation data."""

    extracted_metrics: dict[str, bool | float | int | None] = {}
    """None: the value is no finite number."""
    output_text: str | None = None
    other_text: str | None = None
    structured_form: str | None = None
    """What later candidates' outputs are compared with, where that is not the text alone."""
    similarities: dict[str, float] = {}
    """Of the earlier judged candidates' outputs to this one, by output hash."""
    reference_similarity: ReferenceSimilarity | None = None
    keyword_stats: KeywordStats | None = None

    @property
    def form(self) -> str | None:
        """The output as others are compared with it; None where it cannot be."""
        return self.structured_form or self.output_text or None


class AttemptRow(Frozen):
    """One verification of one candidate. The candidate lies beside it, written once."""

    attempt_id: str
    contract_id: str
    candidate_key: str
    candidate_hash: Sha256
    output_hash: Sha256
    agent_org: str | None = None
    status: AttemptStatus
    verdict: Verdict | None = None
    counted: bool = False
    feedback: str | None = None
    errors: tuple[Problem, ...] = ()
    """Why the output is invalid, where it is."""
    rejected: Rejected | None = None
    """What the named verifier said, while the criteria have yet to be judged: it is not asked twice."""
    result: VerificationResult | None = None
    facts: Facts = Facts()
    claim_texts: dict[str, str] = {}
    """Of those claimed values whose own text the candidate's record does not keep: it has numbers."""
    platform_latency_ms: float
    """How long the contract had waited for the agent when this candidate came, all spans together."""
    system_retries: int = 0
    operator_retries: int = 0
    """How often an operator had this candidate verified anew before this attempt; orders attempts received at once."""
    last_error: str | None = None
    received_at: Instant
    judged_at: Instant | None = None


class FinalResult(Frozen):
    """What a named verifier returned for an attempt that passed, or that an operator may release. Written once."""

    attempt_id: str
    contract_id: str
    final_result: Any
    """None where it returned None."""
