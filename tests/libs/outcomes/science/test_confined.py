"""Raw data are read in confined workers: what those cannot read is its owner's problem, what fails in them is ours."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aex_models.examination import DataOwner
from aex_models.faults import Fault
from aex_models.science import Science
from aex_outcomes.confinement.errors import (
    ConfinementError,
    JobCrashed,
    JobFailed,
    JobOutOfMemory,
    JobTimeout,
    PoolBusy,
    WorkersUnavailable,
)
from aex_outcomes.science.confined import ConfinedExaminer, ExaminationLost, ExaminationRequest
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import SourceFile

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
    demanded = Science.model_validate(
        {"expected_outcome": "canary", "data": [{"name": "own.csv", "sha256": "ab" * 32}]}
    )
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
    [
        (JobOutOfMemory("x"), "out_of_memory"),
        (JobFailed("RuntimeError", "can't start new thread"), "out_of_memory"),
        (JobFailed("OutOfMemoryException", "could not allocate"), "out_of_memory"),
        (JobFailed("InvalidInputException", "Python exception occurred: MemoryError"), "out_of_memory"),
        (JobTimeout("x"), "timed_out"),
        (JobCrashed("x"), "crashed"),
    ],
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


@pytest.mark.parametrize("error", [JobCrashed("x"), JobFailed("RuntimeError", "can't start new thread")])
async def test_a_worker_that_dies_once_may_have_died_of_anything(error: ConfinementError) -> None:
    ends: Iterator[ConfinementError | dict[str, Any]] = iter([error, FOUND])
    pool = Scripted(lambda _: next(ends))
    assert (await ConfinedExaminer(pool, DataLimits()).examine(request(THEIRS))).problems == ()


LOST = [JobFailed("E", "canary"), PoolBusy("x"), WorkersUnavailable("x"), {"examination": {"claims": "canary"}}, {}]


@pytest.mark.parametrize("end", LOST)
async def test_what_fails_on_our_side_is_nobodys_problem_but_ours(end: ConfinementError | dict[str, Any]) -> None:
    with pytest.raises(ExaminationLost) as lost:
        await ConfinedExaminer(Scripted(lambda _: end), DataLimits()).examine(request(THEIRS))
    assert "canary" not in str(lost.value)


async def test_whoever_owns_all_of_the_data_may_read_what_went_wrong() -> None:
    with pytest.raises(ExaminationLost) as lost:
        await ConfinedExaminer(Scripted(lambda _: JobFailed("TypeError", "a cell")), DataLimits()).examine(request())
    assert (str(lost.value), lost.value.told) == ("JobFailed", "TypeError: a cell")


async def test_claims_alone_that_no_worker_can_examine_are_lost() -> None:
    with pytest.raises(ExaminationLost):
        await ConfinedExaminer(Scripted(lambda _: JobTimeout("x")), DataLimits()).examine(request())


def problems(*told: tuple[str, str]) -> dict[str, Any]:
    """An examination with these codes and whose fault they are."""
    listed = [{"code": code, "message": "m", "name": "m", "fault": fault} for code, fault in told]
    return {"examination": {"claims": 1, "problems": listed}}


@pytest.mark.parametrize("code", ["timed_out", "out_of_memory"])
async def test_own_data_that_were_too_much_beside_the_agents_are_examined_alone(code: str) -> None:
    pool = Scripted(lambda owners: problems((code, "platform")) if "agent" in owners else FOUND)
    found = await ConfinedExaminer(pool, DataLimits()).examine(request(OWN, THEIRS))
    assert [(each.code, each.fault, each.artifact) for each in found.problems] == [(code, Fault.AGENT, "agent.csv")]


async def test_own_data_that_are_too_much_alone_are_the_platforms_problem_only() -> None:
    pool = Scripted(lambda _: problems(("timed_out", "platform")))
    found = await ConfinedExaminer(pool, DataLimits()).examine(request(OWN, THEIRS))
    assert [(each.code, each.fault) for each in found.problems] == [("timed_out", Fault.PLATFORM)]
    assert [len(each["files"]) for each in pool.asked] == [2, 1]


async def test_nobody_is_told_to_send_a_file_that_a_worker_did_not_outlive() -> None:
    pool = Scripted(lambda owners: JobCrashed("x") if owners else problems(("artifact_missing", "agent")))
    found = await ConfinedExaminer(pool, DataLimits()).examine(request(THEIRS))
    assert [(each.code, each.name) for each in found.problems] == [("crashed", None), ("crashed", "m")]


async def test_a_worker_that_had_no_time_says_nothing_of_the_files() -> None:
    busy, limits = JobTimeout("x", cpu_seconds=39.0), DataLimits(cpu_seconds=20)
    with pytest.raises(ExaminationLost, match="JobTimeout"):
        await ConfinedExaminer(Scripted(lambda _: busy), limits).examine(request(OWN, THEIRS))
    hanging = Scripted(lambda owners: JobTimeout("x", cpu_seconds=40.0) if "agent" in owners else FOUND)
    found = await ConfinedExaminer(hanging, limits).examine(request(OWN, THEIRS))
    assert [(each.code, each.fault) for each in found.problems] == [("timed_out", Fault.AGENT)]
