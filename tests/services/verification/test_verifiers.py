import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from aex_models.contract import Candidate
from aex_outcomes.config import parse_config
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import JobFailed, JobTimeout, PoolBusy, WorkersUnavailable
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.registry import VerifierRegistry
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected
from aex_verification.ports import VerifierLost, VerifierRequest
from aex_verification.verifiers import JOB, ConfinedVerifiers
from tests.services.verification.test_grading import Noting

SAMPLES = "tests.services.verification.operators"
CONFIG = parse_config(
    {"verifiers": {"obey": f"{SAMPLES}:obey", "hasty": {"path": f"{SAMPLES}:obey", "timeout_ms": 200}}}
)
REGISTERED = VerifierRegistry.import_enabled(CONFIG)
TIMEOUTS = {name: each.timeout_ms for name, each in REGISTERED.by_name.items()}
module_loop = pytest.mark.asyncio(loop_scope="module")


def request(do: Any, name: str = "obey") -> VerifierRequest:
    candidate = Candidate(output={"do": do})
    return VerifierRequest(
        name=name,
        consumer_id="acme",
        candidate=candidate,
        agent=AgentContext(query={"q": 1}, output=candidate.output, attempt=2, turn=3),
        contract_id="ctr_1",
        work_id="work_1",
        agent_id="bot",
        attempt_id="att_1",
        deadline=datetime(2999, 1, 1, tzinfo=UTC),
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def confined() -> AsyncIterator[ConfinedVerifiers]:
    async with WorkerPool(1, 30.0, 512, jobs=[JOB], warm=REGISTERED.modules) as pool:
        yield ConfinedVerifiers(pool, TIMEOUTS, CONFIG.as_json())


@module_loop
async def test_verifier_reads_the_attempt_and_returns_a_result(confined: ConfinedVerifiers) -> None:
    ruling = await confined.rule(request("tell"))
    assert isinstance(ruling, Accepted)
    assert ruling.final_result == {
        "attempt": 2,
        "query": {"q": 1},
        "contract_id": "ctr_1",
        "agent_id": "bot",
        "in_time": True,
    }


@module_loop
async def test_rejected_and_invalid_outputs_have_rulings(confined: ConfinedVerifiers) -> None:
    rejected = await confined.rule(request("reject"))
    assert isinstance(rejected, Rejected)
    rejection = rejected.rejection
    assert (rejection.message, rejection.code, rejection.metadata) == (
        "not good enough",
        "quality",
        {"missing": ["a", "b"]},
    )
    fatal = await confined.rule(request("give_up"))
    assert isinstance(fatal, Rejected)
    assert fatal.fatal
    invalid = await confined.rule(request("something else"))
    assert isinstance(invalid, Invalid)
    assert [each.path for each in invalid.errors] == ["/output/do"]


@module_loop
@pytest.mark.parametrize(
    ("do", "name", "kind"),
    [
        ("raise", "obey", r"LookupError at .*\.py:\d+ in \w+"),
        ("return_nan", "obey", "FinalResultRefused"),
        ("hang", "hasty", "JobTimeout"),
        ("die", "obey", "JobCrashed"),
        ("hoard", "obey", "JobOutOfMemory"),
        ("connect", "obey", r"PermissionError at .*\.py:\d+ in \w+"),
        ("tell", "withdrawn", "UnknownVerifier"),
    ],
)
async def test_verifier_without_a_ruling_is_lost_and_the_next_runs(
    confined: ConfinedVerifiers, do: str, name: str, kind: str
) -> None:
    with pytest.raises(VerifierLost) as lost:
        await confined.rule(request(do, name))
    assert re.fullmatch(kind, str(lost.value)), "the kind and the place alone: its words may quote anything"
    assert isinstance(await confined.rule(request("tell")), Accepted)


async def test_verifier_may_open_sockets_where_allowed() -> None:
    async with WorkerPool(1, 30.0, 512, jobs=[JOB], warm=REGISTERED.modules, spares=0, network=True) as pool:
        ruling = await ConfinedVerifiers(pool, TIMEOUTS, CONFIG.as_json()).rule(request("connect"))
    assert ruling == Accepted(final_result="open")


async def test_job_has_the_verifiers_time_limit_and_consumers_queue() -> None:
    pool = Noting({"ruling": "accepted"})
    await ConfinedVerifiers(pool, TIMEOUTS, {"a": 1}).rule(request("tell", "hasty"))
    [(job, payload, timeout_s, queue)] = pool.jobs
    assert (job, timeout_s, queue) == (JOB, 0.2, "acme")
    assert payload.keys() == {"name", "config", "candidate", "agent_ctx", "execution_ctx"}
    assert (payload["candidate"]["output"], payload["agent_ctx"]["output"]) == ({"do": "tell"}, {"do": "tell"})


ERROR = {"path": "/output", "code": "missing", "message": "Field required"}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"ruling": "canary"}, r"UnreadableAnswer \(ValidationError\)"),
        ({}, r"UnreadableAnswer \(ValidationError\)"),
        ({"ruling": "accepted", "final_result": 2**60}, r"UnreadableAnswer \(NotCanonical\)"),
        ({"ruling": "accepted", "final_result": json.loads("[" * 250 + "]" * 250)}, r"UnreadableAnswer \(ValueError\)"),
        ({"ruling": "rejected", "rejection": {"message": "canary" * 1_000}}, r"UnreadableAnswer \(too long\)"),
        ({"ruling": "rejected", "rejection": {"message": "", "code": "c" * 101}}, r"UnreadableAnswer \(too long\)"),
        ({"ruling": "invalid", "errors": []}, r"UnreadableAnswer \(too long\)"),
        ({"ruling": "invalid", "errors": [ERROR] * 51}, r"UnreadableAnswer \(too long\)"),
        ({"ruling": "invalid", "errors": [ERROR | {"path": "/" * 5_000}]}, r"UnreadableAnswer \(too long\)"),
        (JobTimeout("late"), "JobTimeout"),
        (JobFailed("KeyError", "canary"), "KeyError"),
        (PoolBusy("full"), "PoolBusy"),
        (WorkersUnavailable("canary"), "WorkersUnavailable"),
    ],
)
async def test_unreadable_ruling_is_a_platform_failure_unquoted(answer: Any, kind: str) -> None:
    with pytest.raises(VerifierLost, match=f"^{kind}$") as lost:
        await ConfinedVerifiers(Noting(answer), TIMEOUTS, {}).rule(request("tell"))
    assert lost.value.__cause__ is None
