"""The input of `aex verify`: its files are checked and combined to one request to the engine."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aex_cli.offline.documents import BadFile, InputDocument
from aex_cli.offline.work_files import (
    CRITERIA,
    FieldSource,
    FieldSources,
    extract_criteria,
    extract_work_fields,
    find_unknown_fields,
)
from aex_models.contract import Artifact, Candidate
from aex_models.work import Budget, Problem, VerificationPolicy
from aex_outcomes.catalog import Catalog
from aex_outcomes.science.source_files import resolve_media_type
from aex_outcomes.submission.findings import convert_validation_error
from aex_outcomes.submission.verify_request import Trial, check_trial
from aex_runtime.commandline import UserError

_LATENCY = "platform_latency_ms"
_NOT_UPLOADED = "sha256_missing"
"""Code of the problem that data have no digest. It is ignored offline, where options name the files."""
Part = TypeVar("Part", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class OfflineRequest:
    """A checked request to the engine, with the work's budget and policy.

    `sources`: the file and option of each part, for messages.
    """

    trial: Trial
    budget: Budget | None
    policy: VerificationPolicy
    sources: FieldSources

    def build_candidate(self, artifacts: tuple[Artifact, ...] = ()) -> Candidate:
        """Return the candidate of this request, as an agent would post it, with these artifacts."""
        names = ("output", "execution_metadata", "claimed_values", "reasoning")
        return Candidate(artifacts=artifacts, **{name: getattr(self.trial, name) for name in names})


def build_checked_request(
    files: Mapping[str, InputDocument | None], latency_ms: float | None, reasoning: str | None, catalog: Catalog
) -> OfflineRequest:
    """Combine the files to one request and check it.

    `files`: the documents by option: criteria, work, output, metadata and claims; None for an option that is not given.
    `latency_ms`: the latency that the platform would measure. Raises `BadFile` with all problems, and `UserError` if
    there are no criteria.
    """
    work = extract_work_fields(files["work"])
    budget, budget_problems = _parse_part(work, "budget", Budget)
    policy, policy_problems = _parse_part(work, "verification", VerificationPolicy)
    has_other_gate = (policy is not None and policy.verifier is not None) or work.get("science") is not None
    criteria, source = find_criteria(files["criteria"], files["work"], work, required=not has_other_gate)
    parts = {
        CRITERIA: source,
        "output": FieldSource("--output", files["output"]),
        "execution_metadata": FieldSource("--metadata", files["metadata"]),
        "claimed_values": FieldSource("--claims", files["claims"]),
        "reasoning": FieldSource("--reasoning", None),
        _LATENCY: FieldSource("--platform-latency-ms", None),
    }
    body: dict[str, Any] = {name: work[name] for name in ("input", "evaluation", "domain") if name in work}
    body |= {CRITERIA: criteria, "output": None, "science": work.get("science")}
    body |= {_LATENCY: latency_ms, "reasoning": reasoning}
    body |= {name: each.document.value for name, each in parts.items() if name != CRITERIA and each.document}
    checked = check_trial(body, catalog, Trial, has_reviewer=True)
    trial_problems = [each for each in checked.problems if each.code != _NOT_UPLOADED]
    problems = [*find_unknown_fields(work), *budget_problems, *policy_problems, *trial_problems]
    sources = FieldSources(parts, FieldSource("--work", files["work"]))
    if problems:
        raise BadFile([sources.prefix_with_location(each.path, each.message) for each in problems])
    trial = checked.request or Trial.model_validate(body)
    return OfflineRequest(trial, budget, policy or VerificationPolicy(), sources)


def find_criteria(
    criteria: InputDocument | None, document: InputDocument | None, work: Mapping[str, Any], *, required: bool
) -> tuple[Any, FieldSource]:
    """Return the success criteria and their origin: the file `criteria`, or else the work's.

    `document`: the file of `work`. Raises `UserError` if there are none although they are required.
    """
    if criteria is not None:
        return extract_criteria(criteria)
    if work.get(CRITERIA) is None and required:
        raise UserError("there are no success criteria", "name their file with --criteria")
    return work.get(CRITERIA), FieldSource("--work", document, f"/{CRITERIA}")


def _parse_part(work: Mapping[str, Any], name: str, kind: type[Part]) -> tuple[Part | None, list[Problem]]:
    """Parse a part of the work that the engine does not check; return it and its problems.

    The part is None if it is missing or has problems.
    """
    if work.get(name) is None:
        return None, []
    try:
        return kind.model_validate(work[name]), []
    except ValidationError as error:
        return None, convert_validation_error(error, work[name], f"/{name}")


MAX_BYTES = 100 * 1024 * 1024
"""Largest size of a file of raw data: the limit of an upload to a service."""
MAX_REASONING = 200_000


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Paths of raw data by name: `artifacts` are the agent's files, `data` the consumer's."""

    artifacts: Mapping[str, Path] = field(default_factory=dict)
    data: Mapping[str, Path] = field(default_factory=dict)

    def build_artifacts_with_digests(self) -> tuple[Artifact, ...]:
        """Return the agent's files as artifacts with their SHA-256, as if they had been uploaded.

        Raises `BadFile` for an invalid name.
        """
        return tuple(_read_artifact(name, path) for name, path in self.artifacts.items())


def parse_named_files(option_name: str, values: Sequence[str]) -> dict[str, Path]:
    """Parse values of the form `NAME=FILE`, or `FILE` alone, to paths by name.

    `option_name`: the command line option, for messages. Raises `UserError` for a missing or too large file, and for a
    name that is given twice.
    """
    files: dict[str, Path] = {}
    for value in values:
        name, sign, path = value.partition("=")
        if not sign or Path(value).exists():
            name, path = Path(value).name, value
        if name in files:
            raise UserError(f"{option_name}: {name} is given twice", "give each file a name of its own: NAME=FILE")
        files[name] = Path(path)
        if not files[name].is_file():
            raise UserError(f"there is no file {path}", f"check the path given to {option_name}")
        if files[name].stat().st_size > MAX_BYTES:
            raise UserError(f"{path} has more than {MAX_BYTES >> 20} MB", "give the services' limit or less")
    return files


def _read_artifact(name: str, path: Path) -> Artifact:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        return Artifact(name=name, media_type=resolve_media_type(name), sha256=digest)
    except ValidationError as error:
        raise BadFile([f"--artifact {name}: {each['msg']}" for each in error.errors()]) from None


def read_reasoning(path: str | None) -> str | None:
    """Return the text of the file at `path`; None if `path` is None.

    Raises `UserError` if it cannot be read or is too long.
    """
    if path is None:
        return None
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "check the path given to --reasoning") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text", "save it as UTF-8") from None
    if len(text) > MAX_REASONING:
        raise UserError(f"{path} has more than {MAX_REASONING:,} characters", "shorten it to the services' limit")
    return text
