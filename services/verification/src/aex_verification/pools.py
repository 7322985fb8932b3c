"""The confined workers of an instance: for candidates, custom code, raw data, and the operator's own verifiers."""

from aex_outcomes.config import SandboxConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.lifecycle import registry
from aex_outcomes.sandbox.disposable import MEMORY_MB
from aex_outcomes.science.confined import EXAMINE
from aex_verification.judge import JOB, MAX_RESULT_BYTES, WARM
from aex_verification.sandbox_desk import SELF_TEST
from aex_verification.settings import Settings
from aex_verification.trials import CHECK_REFERENCE, DRY_RUN
from aex_verification.verifiers import JOB as RUN_VERIFIER

READING = ("duckdb",)
_MAX_EXAMINATIONS = 500


def candidate_pool(chosen: Settings) -> WorkerPool:
    """Workers for whatever needs no custom code."""
    return WorkerPool(
        chosen.workers,
        chosen.verify_timeout_s,
        chosen.worker_memory_mb,
        jobs=[JOB, CHECK_REFERENCE],
        warm=WARM,
        max_result_bytes=MAX_RESULT_BYTES,
    )


def verifier_pool(chosen: Settings, registered: registry.Verifiers) -> WorkerPool | None:
    """Workers for the operator's code, which is imported before they are confined; None where there is none."""
    if not registered.names:
        return None
    return WorkerPool(
        chosen.verifier_workers,
        chosen.verify_timeout_s,
        chosen.worker_memory_mb,
        jobs=[RUN_VERIFIER],
        warm=("asyncio", *registered.modules),  # the first is the job's own
        max_result_bytes=MAX_RESULT_BYTES,
        network=chosen.verifier_network,
    )


def sandbox_pool(chosen: Settings, code_mb: int) -> WorkerPool:
    """Workers that may start the interpreter of custom code, with room for it. No spare one: few works need them."""
    return WorkerPool(
        chosen.sandbox_workers,
        chosen.verify_timeout_s,
        max(chosen.worker_memory_mb, code_mb + MEMORY_MB),
        jobs=[JOB, DRY_RUN, SELF_TEST],
        warm=WARM,
        spares=0,
        max_result_bytes=MAX_RESULT_BYTES,
        children=True,
    )


def science_pool(chosen: Settings, limits: SandboxConfig) -> WorkerPool:
    """Workers that read raw data. No spare one, and few jobs for each: what they read is hostile, and large."""
    return WorkerPool(
        chosen.science_workers,
        limits.timeout_ms / 1_000,
        limits.memory_limit_mb,
        jobs=[EXAMINE],
        warm=READING,
        spares=0,
        max_jobs=_MAX_EXAMINATIONS,
        max_result_bytes=MAX_RESULT_BYTES,
    )
