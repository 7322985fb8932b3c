"""Engine and verifier jobs in a confined worker process, and the science gate without a judge."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from aex_cli.offline.inputs import RawFiles
from aex_models.contract import Candidate
from aex_models.examination import PEER_REVIEW, DataOwner
from aex_models.science import GateReason, Science, ScienceResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import ConfinementError, JobFailed, JobTimeout
from aex_outcomes.lifecycle.verifier_job import VerifierRaised
from aex_outcomes.science.confined import DataLimits, ExaminationLost
from aex_outcomes.science.local import CandidateClaims, LocalScience
from aex_outcomes.science.source_files import InputFile, UnusableFile, verify_consumer_files
from aex_runtime.commandline import CommandFailed, UserError
from aex_runtime.logs import configure_logging

TIMEOUT_S = 30.0
_MEMORY_MB = 1_024
_MAX_RESULT_BYTES = 16 * 1024 * 1024


class NoVerdict(CommandFailed):
    """The error for a grader that failed or took too long, so that the output has no verdict."""

    exit_code = 3


def load_metric_catalog(config: Path | None) -> Catalog:
    """Load the metrics of a configuration file, or the default ones if `config` is None.

    Raises `UserError` with the file and the key of each problem.
    """
    try:
        return Catalog.from_config_file(config)
    except InvalidConfig as error:
        raise UserError(str(error), "correct the configuration given to --config") from None


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The limits of a job: its time, and whether it may start children or open connections.

    `name`: what error messages call the job.
    """

    name: str = "the engine"
    timeout_s: float = TIMEOUT_S
    warm: tuple[str, ...] = ()
    """Modules that the worker imports before the time limit starts."""
    children: bool = False
    network: bool = False


def build_engine_job_limits(slow_seconds: float) -> JobLimits:
    """Return the engine's limits, with `slow_seconds` more for slow metrics in child processes."""
    return JobLimits(timeout_s=TIMEOUT_S + slow_seconds, children=slow_seconds > 0)


def run_confined_job(
    job: str, payload: dict[str, Any], status_text: str, limits: JobLimits | None = None
) -> dict[str, Any]:
    """Run a job in a confined worker process and return its answer.

    `job`: its function as `module:function`. `status_text`: shown on a terminal meanwhile. Raises `NoVerdict` if the
    job fails or takes too long.
    """
    configure_logging("aex", "error", "console")
    with Console(stderr=True).status(status_text):
        return asyncio.run(_run(job, payload, limits or JobLimits()))


async def _run(job: str, payload: dict[str, Any], limits: JobLimits) -> dict[str, Any]:
    pool = WorkerPool(
        1,
        limits.timeout_s,
        _MEMORY_MB,
        jobs=[job],
        warm=limits.warm,
        spares=0,
        max_result_bytes=_MAX_RESULT_BYTES,
        children=limits.children,
        network=limits.network,
    )
    try:
        async with pool:
            return await pool.run(job, payload)
    except JobTimeout:
        raise NoVerdict(f"{limits.name} did not end within {limits.timeout_s:g} s") from None
    except JobFailed as error:
        # A verifier's own exception already names its class and line.
        message = error.message if error.kind == VerifierRaised.__name__ else str(error)
        raise NoVerdict(f"{limits.name} failed: {message}") from None
    except ConfinementError as error:
        raise NoVerdict(f"the worker of {limits.name} failed: {type(error).__name__}: {error}") from None


def examine_science(
    science: Science, domain: str, candidate: Candidate, raw: RawFiles, catalog: Catalog
) -> ScienceResult:
    """Check the candidate's claims against the raw data, and return the science gate's result.

    `domain`: the work's domain, used if `science` names none. A pass becomes indeterminate if the work also requires a
    peer review. Raises `UserError` for missing or wrong files, `NoVerdict` if the worker fails.
    """
    configure_logging("aex", "error", "console")
    try:
        artifacts = [
            InputFile(each.name, each.media_type, raw.artifacts[each.name], DataOwner.AGENT)
            for each in candidate.artifacts
        ]
        files = (*verify_consumer_files(science.data, raw.data), *artifacts)
        claimed = CandidateClaims(candidate.output, candidate.claimed_values, candidate.reasoning, files)
        bounds = catalog.config.extractor_sections()["statistics"].sandbox
        local = LocalScience(bounds, DataLimits.from_worker_bounds(bounds))
        with Console(stderr=True).status("examining the data"):
            result = asyncio.run(
                local.examine_and_review(science, catalog.resolve_domain(science.domain, domain), claimed)
            )
    except UnusableFile as error:
        raise UserError(str(error), "name the consumer's own files by --data NAME=FILE") from None
    except ExaminationLost as error:
        raise NoVerdict(str(error)) from None
    if PEER_REVIEW not in science.checks or not result.passed:
        return result
    message = "The work requires a peer review; no judge is available offline"
    return result.model_copy(
        update={"passed": None, "reasons": (GateReason(code="reviewer_unreachable", message=message),)}
    )
