"""Outcome records, and the lines of their export: records or rollouts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import ContractStatus
from aex_models.cost import cost, to_billing_impact
from aex_models.events import ContractAwarded
from aex_models.large_thresholds import restore_outcome_thresholds
from aex_models.numbers import is_finite_number
from aex_models.outcome import OutcomeRecord
from aex_models.results import VerificationResult
from aex_models.rollout import RolloutMetrics, RolloutResponse, RolloutStep, RolloutTrajectory, parse_correlation_id

MEDIA_TYPE = "application/x-ndjson"
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""JSON encoder that writes only ASCII, because some readers end a line at U+2028."""
MAX_TEXT = 100_000
"""Characters of a candidate's text in a rollout."""
_MAX_URL = 2_048
_DETAILS = ("contract_id", "work_id", "final_status", "attempts_used", "created_at")


class OutcomeFormat(StrEnum):
    """Formats of the export of outcomes."""

    JSONL = "jsonl"
    """Outcome records."""
    ROLLOUTS = "rollouts"
    """Rollouts (`RolloutResponse`) for reinforcement learning."""


def make_outcome_record(
    awarded: ContractAwarded,
    status: ContractStatus,
    result: VerificationResult | None,
    final_result: Any,
    execution_metadata: dict[str, Any],
    attempts_used: int,
    now: datetime,
) -> OutcomeRecord:
    """Return the outcome record of a contract, with its cost under the award's terms."""
    award, work = awarded.award, awarded.work
    return OutcomeRecord(
        id=f"out_{award.contract_id.removeprefix('ctr_')}",
        contract_id=award.contract_id,
        work_id=award.work_id,
        agent_id=award.agent_id,
        consumer_id=award.consumer.id,
        domain=work.domain,
        final_status=status,
        success_criteria=work.success_criteria,
        verification_result=result,
        final_result=final_result if result is not None and result.success else None,
        attempts_used=attempts_used,
        execution_metadata=execution_metadata,
        terms=awarded.terms,
        billing_impact=to_billing_impact(cost(awarded.terms, result, award.contract_id)),
        disclosure=work.verification.feedback,
        created_at=now,
    )


def strip_result_and_metadata(record: OutcomeRecord) -> OutcomeRecord:
    """Return the record without results and execution metadata, as stored with `store_outcomes: false`."""
    changes: dict[str, Any] = {
        "verification_result": None,
        "final_result": None,
        "execution_metadata": {},
        "stored": False,
    }
    return record.model_copy(update=changes)


def is_paid_or_successful(record: OutcomeRecord | None) -> bool:
    """Return whether the outcome succeeded or costs something in any revision; False for None.

    The consumer may read the candidate of a paid outcome.
    """
    if record is None:
        return False
    result = record.verification_result
    is_success = result is not None and result.success
    if not record.stored:  # the status alone is there: a contract passes with a success and no other outcome
        is_success = record.final_status is ContractStatus.PASSED
    return record.billing_impact.total > 0 or record.paid_by_correction or is_success


@dataclass(frozen=True, slots=True)
class AttemptStep:
    """The part of a counted attempt that the reader of a rollout may see; None where it may not."""

    text: str | None = None
    """Text of the candidate, cut to `MAX_TEXT` characters."""
    is_cut: bool = False
    verdict: str | None = None
    weighted_score: float | None = None
    feedback: str | None = None


def make_attempt_step(attempt: Mapping[str, Any]) -> AttemptStep:
    """Return the step of an attempt, which has the fields that its reader sees."""
    candidate, result = attempt.get("candidate"), attempt.get("result") or {}
    text = None if candidate is None else _to_text(candidate.get("output"))
    return AttemptStep(
        text=text and text[:MAX_TEXT],
        is_cut=text is not None and len(text) > MAX_TEXT,
        verdict=attempt.get("verdict"),
        weighted_score=result.get("weighted_score"),
        feedback=attempt.get("feedback"),
    )


def _to_text(output: Any) -> str:
    """Return the text of an output: the output itself, its member `text`, or its JSON."""
    text = output.get("text") if isinstance(output, Mapping) else output
    return text if isinstance(text, str) else _JSON(output)


def make_rollout(outcome: Mapping[str, Any], attempts: Sequence[AttemptStep] = ()) -> RolloutResponse | None:
    """Return the rollout of an outcome, a record for reinforcement learning; None if there is no score.

    `outcome` has the fields that its reader sees, and `attempts` are its counted attempts, oldest first; empty where
    the reader sees none. An episode has one step per attempt, and the weighted score as reward of the last step. There
    is no score if nothing was graded, or for an agent whose work gives no feedback.
    """
    result = outcome.get("verification_result") or {}
    score: Any = result.get("weighted_score")
    if not is_finite_number(score):
        return None
    length = max(1, outcome["attempts_used"])  # a graded candidate was an attempt, counted or not
    known = [*attempts[:length], *[AttemptStep()] * (length - len(attempts))]
    steps = [_make_step(number, before, each) for number, (before, each) in enumerate(pairwise([None, *known]), 1)]
    steps[-1] = steps[-1].model_copy(update={"reward": score, "done": True})
    return RolloutResponse(
        run_id=outcome["id"],
        trajectories=(
            RolloutTrajectory(
                env_id=outcome["domain"],
                policy_id=outcome["agent_id"],
                inference_url=_find_inference_url(outcome),
                steps=tuple(steps),
                length=length,
            ),
        ),
        metrics=RolloutMetrics(
            episode_returns=(score,),
            mean_return=score,
            num_steps=length,
            num_episodes=1,
            details={name: outcome[name] for name in _DETAILS}
            | {name: result[name] for name in ("verdict", "success")},
        ),
    )


def _make_step(number: int, before: AttemptStep | None, attempt: AttemptStep | None) -> RolloutStep:
    """Return the step of an attempt: the feedback before it, its text, and its result."""
    own = attempt or AttemptStep()
    known_feedback = {"feedback": before.feedback} if before and before.feedback else {}
    info = {"verdict": own.verdict, "weighted_score": own.weighted_score, "feedback": own.feedback}
    known = {name: value for name, value in info.items() if value is not None}
    return RolloutStep(
        obs={"attempt": number, **known_feedback},
        action={} if own.text is None else {"text": own.text},
        done=False,
        info={**known, **({"text_cut": True} if own.is_cut else {})} or None,
    )


def _find_inference_url(outcome: Mapping[str, Any]) -> str:
    """Return the agent's web address with a correlation id; without an address, the contract's `aex:` URL."""
    contract_id = outcome["contract_id"]
    url = outcome.get("execution_metadata", {}).get("inference_url")
    if not isinstance(url, str) or not _is_web_address(url):
        return f"aex://contracts/{quote(contract_id, safe='')}?{urlencode({'cid': contract_id})}"
    if parse_correlation_id(url) is not None:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, urlencode({"cid": contract_id}))))))


def _is_web_address(text: str) -> bool:
    if len(text) > _MAX_URL or not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def format_outcome_line(record: OutcomeRecord, audience: Audience) -> bytes:
    """Return the outcome as an export line for this audience."""
    disclosure = Disclosure(level=record.disclosure, output=is_paid_or_successful(record))
    return f"{_JSON(project(restore_outcome_thresholds(record), audience, disclosure))}\n".encode()


def format_rollout_line(record: OutcomeRecord, attempts: Sequence[AttemptStep], audience: Audience) -> bytes | None:
    """Return the outcome as a rollout for this audience; None without a score."""
    disclosure = Disclosure(level=record.disclosure, output=is_paid_or_successful(record))
    # No rollout holds the final result, which may have megabytes.
    rollout = make_rollout(project(record.model_copy(update={"final_result": None}), audience, disclosure), attempts)
    return None if rollout is None else f"{_JSON(rollout.model_dump(mode='json', exclude_none=True))}\n".encode()
