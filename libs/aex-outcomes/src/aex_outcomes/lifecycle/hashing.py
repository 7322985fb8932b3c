"""What makes two candidates the same: SHA-256 over RFC 8785 canonical JSON."""

from base64 import b64decode
from typing import Any

from aex_models.canonical import digest, json_form, sha256_hex
from aex_models.contract import Artifact, Candidate
from aex_outcomes.claim_texts import spelled_otherwise


def candidate_hash(candidate: Candidate) -> str:
    """The hash over everything that the verdict reads: a corrected claim makes a new candidate.

    So does a claim with another number of decimals (11.17 and 11.170 may be judged differently), and so do artifacts of
    another media type or in another order: that says how they are read, and which of them a statistic comes from.
    A candidate that was stored has the same hash once its claims have their texts again (`claims_restored`).
    Raises `aex_models.canonical.NotCanonical` for what I-JSON cannot hold, naming the path.
    """
    spelled = spelled_otherwise(candidate.claimed_values)
    return digest(
        {
            "output": candidate.output,
            "execution_metadata": json_form(candidate.execution_metadata, exclude_none=True),
            "claimed_metrics": candidate.claimed_metrics,
            "claimed_values": candidate.claimed_values,
            "reasoning": candidate.reasoning,
            **({"claim_texts": spelled} if spelled else {}),
            "artifacts": [[each.name, each.media_type, _artifact_digest(each)] for each in candidate.artifacts],
        }
    )


def output_hash(output: Any) -> str:
    """The hash over the output alone, for rules about duplicates."""
    return digest(output)


def _artifact_digest(artifact: Artifact) -> str:
    """Of the bytes, however they came: inline, in base64, or uploaded before under this digest."""
    if artifact.sha256 is not None:
        return artifact.sha256
    if artifact.content_base64 is not None:
        return sha256_hex(b64decode(artifact.content_base64))
    return sha256_hex((artifact.content or "").encode())
