"""Raw data are read in confined workers: what those cannot read is its owner's problem, what fails in them is ours."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from aex_models.faults import Fault
from aex_models.science import DataOwner, Science
from aex_outcomes.config import OutcomeConfig, SandboxConfig
from aex_outcomes.confinement.errors import (
    ConfinementError,
    JobCrashed,
    JobFailed,
    JobOutOfMemory,
    JobTimeout,
    PoolBusy,
    WorkersUnavailable,
)
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import SourceFile
from aex_verification.examiner import ConfinedExaminer
from aex_verification.pool_on_demand import PoolOnDemand
from aex_verification.pools import data_limits, science_pool
from aex_verification.ports import ExaminationLost, ExaminationRequest
from aex_verification.settings import Settings
from tests.services.verification.examined import TABLE, science

FOUND = {"examination": {"domain": None, "claims": 1}}


class Scripted:
    """A pool whose jobs end as the test says, by the owners of the files that they are given."""

    def __init__(self, ends: Callable[[list[str]], ConfinementError | dict[str, Any]]) -> None:
        self.ends = ends
        self.asked: list[dict[str, Any]] = []

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        assert (job, timeout_s, lane) == ("aex_outcomes.science.job:examine_candidate", None, "acme")
        self.asked.append(json.loads(json.dumps(payload)))
        end = self.ends([file["owner"] for file in payload["files"]])
        if isinstance(end, ConfinementError):
            raise end
        return end


def source(owner: DataOwner, path: str = "/nowhere") -> SourceFile:
    return SourceFile(name=f"{owner.value}.csv", media_type="text/csv", path=path, owner=owner)


OWN, THEIRS = source(DataOwner.CONSUMER), source(DataOwner.AGENT)


def request(*files: SourceFile) -> ExaminationRequest:
    demanded = Science.model_validate(science(data=[{"name": "own.csv", "sha256": "ab" * 32}]))
    return ExaminationRequest("acme", demanded, None, {"mean_fitness": "-0.40"}, files)


async def test_the_worker_is_told_the_texts_of_claims_and_no_secret_that_it_needs_not() -> None:
    pool = Scripted(lambda _: FOUND)
    await ConfinedExaminer(pool, DataLimits()).examine(request(OWN, THEIRS))
    [payload] = pool.asked
    assert payload["claimed_values"] == {"mean_fitness": "-0.40"}
    assert "canary" not in json.dumps(payload)
    assert "ab" * 32 not in json.dumps(payload)


@pytest.mark.parametrize(
    ("error", "code"),
    [(JobOutOfMemory("x"), "out_of_memory"), (JobTimeout("x"), "timed_out"), (JobCrashed("x"), "crashed")],
)
async def test_what_a_worker_cannot_read_for_the_agents_file_is_the_agents_fault(
    error: ConfinementError, code: str
) -> None:
    pool = Scripted(lambda owners: error if "agent" in owners else FOUND)
    found = await ConfinedExaminer(pool, DataLimits()).examine(request(OWN, THEIRS))
    assert [(each.code, each.fault, each.artifact) for each in found.problems] == [(code, Fault.AGENT, "agent.csv")]


async def test_what_a_worker_cannot_read_for_the_consumers_file_is_the_platforms_fault() -> None:
    pool = Scripted(lambda owners: JobOutOfMemory("x") if owners else FOUND)
    found = await ConfinedExaminer(pool, DataLimits()).examine(request(OWN, THEIRS))
    assert [(each.code, each.fault) for each in found.problems] == [("out_of_memory", Fault.PLATFORM)]
    assert [len(each["files"]) for each in pool.asked] == [2, 1, 0]


async def test_a_worker_that_dies_once_may_have_died_of_anything() -> None:
    ends: Iterator[ConfinementError | dict[str, Any]] = iter([JobCrashed("x"), FOUND])
    pool = Scripted(lambda _: next(ends))
    assert (await ConfinedExaminer(pool, DataLimits()).examine(request(THEIRS))).problems == ()


LOST = [JobFailed("E", "canary"), PoolBusy("x"), WorkersUnavailable("x"), {"examination": {"claims": "canary"}}, {}]


@pytest.mark.parametrize("end", LOST)
async def test_what_fails_on_our_side_is_nobodys_problem_but_ours(end: ConfinementError | dict[str, Any]) -> None:
    with pytest.raises(ExaminationLost) as lost:
        await ConfinedExaminer(Scripted(lambda _: end), DataLimits()).examine(request(THEIRS))
    assert "canary" not in str(lost.value)


async def test_claims_alone_that_no_worker_can_examine_are_lost() -> None:
    with pytest.raises(ExaminationLost):
        await ConfinedExaminer(Scripted(lambda _: JobTimeout("x")), DataLimits()).examine(request())


@pytest.fixture
def scores(tmp_path: Path) -> str:
    """A file that a worker may read, whoever that is."""
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    place = tmp_path / "scores.csv"
    place.write_text(TABLE)
    return str(place)


def test_reading_ends_by_itself_before_its_worker_is_ended() -> None:
    bounds = OutcomeConfig().sections()["statistics"].sandbox
    assert data_limits(bounds) == DataLimits()
    for memory_mb in (256, 512, 4_096):
        limits = data_limits(SandboxConfig(memory_limit_mb=memory_mb, timeout_ms=9_000))
        assert memory_mb / 2 <= limits.memory_mb < memory_mb
        assert limits.cpu_seconds == pytest.approx(6)


async def test_workers_are_started_by_the_first_examination_and_none_is_left(scores: str) -> None:
    before = len(psutil.Process().children())
    async with PoolOnDemand(
        science_pool(Settings(science_workers=1), OutcomeConfig().sections()["statistics"].sandbox)
    ) as pool:
        await asyncio.sleep(0.2)
        assert len(psutil.Process().children()) == before
        examiner = ConfinedExaminer(pool, DataLimits())
        found = await examiner.examine(request(source(DataOwner.AGENT, scores)))
        assert [each.value for each in found.recomputed] == [pytest.approx(-0.4)]
        assert len(psutil.Process().children()) == before + 1
    assert len(psutil.Process().children()) == before
