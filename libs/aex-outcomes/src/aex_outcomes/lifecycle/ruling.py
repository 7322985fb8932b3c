"""What judging one output comes to, short of a system error, which is raised."""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from aex_models.frozen import Frozen
from aex_models.results import VerificationResult
from aex_models.work import Problem
from aex_outcomes.lifecycle.rejection import REJECTED


class Rejection(Frozen):
    """A rejection as it is stored: `VerificationRejected`, or the message of a `FatalAgentError`."""

    message: str
    code: str = REJECTED
    metadata: dict[str, Any] = {}


class Accepted(Frozen):
    """The verifier returned: the output has passed."""

    ruling: Literal["accepted"] = "accepted"
    final_result: Any = None
    """What it returned."""


class Rejected(Frozen):
    """The verifier raised `VerificationRejected` or, where `fatal`, `FatalAgentError`."""

    ruling: Literal["rejected"] = "rejected"
    rejection: Rejection
    fatal: bool = False
    result: VerificationResult | None = None
    """Where the criteria engine is the verifier: what it found."""


class Invalid(Frozen):
    """The output does not validate into the verifier's output type: it was not judged."""

    ruling: Literal["invalid"] = "invalid"
    errors: tuple[Problem, ...]


Ruling = Accepted | Rejected | Invalid

RULING: TypeAdapter[Ruling] = TypeAdapter(Annotated[Ruling, Field(discriminator="ruling")])
"""Reads a ruling out of a worker's JSON."""
