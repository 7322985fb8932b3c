"""The verifier that a work names: found, run as the services run it, and its word told."""

import json
from collections.abc import Mapping
from typing import Any

from aex_cli.offline.confined import Confines, run_confined
from aex_cli.offline.documents import BadFile
from aex_cli.offline.requests import Asked
from aex_models.contract import Candidate
from aex_models.results import VerificationResult
from aex_models.work import VerificationPolicy
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.engine.combining import under_verifier
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.registry import Loaded, UnknownVerifier, load_verifier
from aex_outcomes.lifecycle.ruling import RULING, Accepted, Invalid, Rejected
from aex_outcomes.lifecycle.state import VerificationState
from aex_runtime.commandline.errors import UserError

JOB = "aex_outcomes.lifecycle.verifier_job:run_verifier"
_SHOWN = 500
"""Characters of a final result, or of metadata, that are shown."""
_FIX = "name the configuration that has it by --config, or install the package that offers it"

Word = Accepted | Rejected


def verifiers_word(asked: Asked, candidate: Candidate, catalog: Catalog, *, network: bool) -> Word | None:
    """What the named verifier says of the candidate; None where the work names none.

    Raises `UserError` for a name that is not registered, and for an output that the verifier does not take: then with
    each place. Raises `NotJudged` where the verifier itself fails, or takes longer than it may.
    """
    name = asked.policy.verifier
    if name is None:
        return None
    loaded = _loaded(name, asked, catalog)
    confines = Confines(f"the verifier {name}", loaded.timeout_ms / 1_000, (loaded.module,), network=network)
    payload = {
        "name": name,
        "config": catalog.config.as_json(),
        "candidate": candidate.model_dump(mode="json", exclude_none=True),
        "agent_ctx": _first_turn(asked.trial.input, candidate, asked.policy).model_dump(mode="json"),
        "execution_ctx": None,
    }
    ruling = RULING.validate_python(run_confined(JOB, payload, f"asking the verifier {name}", confines))
    if isinstance(ruling, Invalid):
        raise BadFile([asked.sources.told(each.path, each.message) for each in ruling.errors])
    return ruling


def _loaded(name: str, asked: Asked, catalog: Catalog) -> Loaded:
    try:
        return load_verifier(catalog.config, name)
    except UnknownVerifier as error:
        raise BadFile([asked.sources.told("/verification/verifier", f"{error}; {_FIX}")]) from None
    except InvalidConfig as error:
        raise UserError(str(error), "correct the configuration given to --config") from None


def _first_turn(work_input: Mapping[str, Any], candidate: Candidate, policy: VerificationPolicy) -> AgentContext:
    state = VerificationState(max_attempts=policy.max_attempts)
    return AgentContext(query=dict(work_input), turn=1, output=candidate.output, verification=state)


def combined(result: VerificationResult, word: Word | None, asked: Asked) -> VerificationResult:
    """The engine's result under the verifier's word, as a contract would have it."""
    if word is None:
        return result
    criteria = asked.trial.success_criteria
    return under_verifier(result, word) if criteria is None else under_verifier(result, word, criteria.bonus_policy)


def in_short(name: str, word: Word) -> str:
    """Whether the verifier takes the output."""
    if isinstance(word, Accepted):
        return f"the verifier {name} accepts it"
    return f"the verifier {name} {'calls it hopeless' if word.fatal else 'rejects it'}"


def in_full(word: Word) -> list[tuple[str, str]]:
    """What the verifier tells, by label."""
    if isinstance(word, Accepted):
        return [("result", _shown(word.final_result))]
    said = word.rejection
    told = [("verifier", in_one_line(f"{said.message} ({said.code})"))]
    return [*told, ("metadata", _shown(said.metadata))] if said.metadata else told


def as_json(name: str, word: Word) -> dict[str, Any]:
    """What the verifier says, for programs."""
    return {"name": name, **word.model_dump(mode="json", exclude={"result"})}


def _shown(value: Any) -> str:
    text = in_one_line(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def in_one_line(text: str) -> str:
    """Without what moves a terminal's cursor: verifiers quote what agents write."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())
