"""Running the named verifier of a work offline, and describing its ruling."""

import json
from typing import Any

from aex_cli.offline.documents import BadFile
from aex_cli.offline.inputs import OfflineRequest
from aex_cli.offline.jobs import JobLimits, run_confined_job
from aex_models.contract import Candidate
from aex_models.criteria import BonusPolicy
from aex_models.results import VerificationResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.engine.final_result import combine_with_ruling
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.registry import LoadedVerifier, UnknownVerifier, load_verifier
from aex_outcomes.lifecycle.ruling import RULING, Accepted, Invalid, Rejected
from aex_outcomes.lifecycle.state import VerificationState
from aex_runtime.commandline import UserError

JOB = "aex_outcomes.lifecycle.verifier_job:run_verifier"
_MAX_CHARACTERS = 500
"""Largest number of printed characters of a final result or of metadata."""
_FIX = "name the configuration that has it by --config, or install the package that offers it"

VerifierRuling = Accepted | Rejected


def run_named_verifier(
    request: OfflineRequest, candidate: Candidate, catalog: Catalog, *, network: bool
) -> VerifierRuling | None:
    """Run the named verifier of the work and return its ruling; None if the work names no verifier.

    `network`: whether the verifier may open connections. Raises `UserError` for an unregistered name, and for an output
    that does not fit the verifier's input, with each JSON pointer. Raises `NoVerdict` if the verifier fails or takes
    too long.
    """
    name = request.policy.verifier
    if name is None:
        return None
    loaded = _load(name, request, catalog)
    limits = JobLimits(f"the verifier {name}", loaded.timeout_ms / 1_000, (loaded.module,), network=network)
    state = VerificationState(max_attempts=request.policy.max_attempts)
    context = AgentContext(query=dict(request.trial.input), turn=1, output=candidate.output, verification=state)
    payload = {
        "name": name,
        "config": catalog.config.as_json(),
        "candidate": candidate.model_dump(mode="json", exclude_none=True),
        "agent_ctx": context.model_dump(mode="json"),
        "execution_ctx": None,
    }
    ruling = RULING.validate_python(run_confined_job(JOB, payload, f"running the verifier {name}", limits))
    if isinstance(ruling, Invalid):
        raise BadFile([request.sources.prefix_with_location(each.path, each.message) for each in ruling.errors])
    return ruling


def _load(name: str, request: OfflineRequest, catalog: Catalog) -> LoadedVerifier:
    try:
        return load_verifier(catalog.config, name)
    except UnknownVerifier as error:
        raise BadFile([request.sources.prefix_with_location("/verification/verifier", f"{error}; {_FIX}")]) from None
    except InvalidConfig as error:
        raise UserError(str(error), "correct the configuration given to --config") from None


def apply_ruling(
    result: VerificationResult, ruling: VerifierRuling | None, request: OfflineRequest
) -> VerificationResult:
    """Return the engine's result combined with the ruling, as for a contract.

    If `ruling` is None, the result is unchanged.
    """
    if ruling is None:
        return result
    criteria = request.trial.success_criteria
    return combine_with_ruling(result, ruling, criteria.bonus_policy if criteria else BonusPolicy.ON_SUCCESS)


def summarize_ruling(name: str, ruling: VerifierRuling) -> str:
    """Return a clause such as `the verifier NAME accepts it`."""
    if isinstance(ruling, Accepted):
        return f"the verifier {name} accepts it"
    return f"the verifier {name} rejects it{' and all further attempts' if ruling.fatal else ''}"


def describe_ruling(ruling: VerifierRuling) -> list[tuple[str, str]]:
    """Return the details of a ruling as pairs of label and text.

    These are the final result, or message and metadata of the rejection.
    """
    if isinstance(ruling, Accepted):
        return [("result", _format_json(ruling.final_result))]
    rejection = ruling.rejection
    message = ("verifier", to_printable_line(f"{rejection.message} ({rejection.code})"))
    return [message, ("metadata", _format_json(rejection.metadata))] if rejection.metadata else [message]


def ruling_to_json(name: str, ruling: VerifierRuling) -> dict[str, Any]:
    """Return the ruling and the verifier's name as JSON values, for `--json`."""
    return {"name": name, **ruling.model_dump(mode="json", exclude={"result"})}


def _format_json(value: Any) -> str:
    text = to_printable_line(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"


def to_printable_line(text: str) -> str:
    """Return the text on one line, without control characters, by which an agent could alter the terminal."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())
