"""Named verifiers in real confined workers: what they rule, and what becomes of those that do not come to an end."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from aex_models.contract import Candidate
from aex_outcomes.config import parse_config
from aex_outcomes.confinement.errors import JobFailed, JobTimeout, PoolBusy, WorkersUnavailable
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.registry import Verifiers
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected
from aex_verification.ports import VerifierLost, VerifierRequest
from aex_verification.verifiers import JOB, ConfinedVerifiers

SAMPLES = "tests.services.verification.operators"
CONFIG = parse_config(
    {"verifiers": {"obey": f"{SAMPLES}:obey", "hasty": {"path": f"{SAMPLES}:obey", "timeout_ms": 200}}}
)
REGISTERED = Verifiers.load(CONFIG)
TIMEOUTS = {name: REGISTERED.timeout_ms(name) for name in REGISTERED.names}
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
async def test_a_verifier_is_told_the_attempt_and_its_result_comes_back(confined: ConfinedVerifiers) -> None:
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
async def test_rejections_fatal_errors_and_invalid_outputs_are_rulings(confined: ConfinedVerifiers) -> None:
    rejected = await confined.rule(request("reject"))
    assert isinstance(rejected, Rejected)
    said = rejected.rejection
    assert (said.message, said.code, said.metadata) == ("not good enough", "quality", {"missing": ["a", "b"]})
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
async def test_a_verifier_that_comes_to_no_ruling_is_lost_and_the_next_one_is_served(
    confined: ConfinedVerifiers, do: str, name: str, kind: str
) -> None:
    with pytest.raises(VerifierLost) as lost:
        await confined.rule(request(do, name))
    assert re.fullmatch(kind, str(lost.value)), "the kind and the place alone: its words may quote anything"
    assert isinstance(await confined.rule(request("tell")), Accepted)


async def test_with_the_operators_leave_a_verifier_may_open_sockets() -> None:
    async with WorkerPool(1, 30.0, 512, jobs=[JOB], warm=REGISTERED.modules, spares=0, network=True) as pool:
        ruling = await ConfinedVerifiers(pool, TIMEOUTS, CONFIG.as_json()).rule(request("connect"))
    assert ruling == Accepted(final_result="open")


async def test_where_none_is_registered_there_is_no_pool_and_every_name_is_unknown() -> None:
    with pytest.raises(VerifierLost, match=r"^UnknownVerifier$"):
        await ConfinedVerifiers(None, {}, {}).rule(request("tell"))


class Answering:
    """A pool that notes what it was asked, and answers or raises."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any], float | None, str]] = []

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        self.asked.append((job, payload, timeout_s, lane))
        if isinstance(self.answer, Exception):
            raise self.answer
        return dict(self.answer)


async def test_a_job_is_given_the_verifiers_own_time_and_its_consumers_lane() -> None:
    pool = Answering({"ruling": "accepted"})
    await ConfinedVerifiers(pool, TIMEOUTS, {"a": 1}).rule(request("tell", "hasty"))
    [(job, payload, timeout_s, lane)] = pool.asked
    assert (job, timeout_s, lane) == (JOB, 0.2, "acme")
    assert payload.keys() == {"name", "config", "candidate", "agent_ctx", "execution_ctx"}
    assert (payload["candidate"]["output"], payload["agent_ctx"]["output"]) == ({"do": "tell"}, {"do": "tell"})


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ERROR = {"path": "/output", "code": "missing", "message": "Field required"}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"ruling": "canary"}, r"UnreadableAnswer \(ValidationError\)"),
        ({}, r"UnreadableAnswer \(ValidationError\)"),
        ({"ruling": "accepted", "final_result": 2**60}, r"UnreadableAnswer \(NotCanonical\)"),
        ({"ruling": "accepted", "final_result": nested(250)}, r"UnreadableAnswer \(ValueError\)"),
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
async def test_whatever_else_comes_back_is_the_platforms_failure_and_is_not_quoted(answer: Any, kind: str) -> None:
    with pytest.raises(VerifierLost, match=f"^{kind}$") as lost:
        await ConfinedVerifiers(Answering(answer), TIMEOUTS, {}).rule(request("tell"))
    assert lost.value.__cause__ is None
