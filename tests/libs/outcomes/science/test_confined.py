import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aex_models.examination import DataOwner, DataProblem, Examination, Fault
from aex_models.science import Science
from aex_outcomes.config import DATA_SANDBOX, SandboxConfig
from aex_outcomes.confinement.settings import (
    ConfinementError,
    JobCrashed,
    JobFailed,
    JobOutOfMemory,
    JobTimeout,
    PoolBusy,
    WorkersUnavailable,
)
from aex_outcomes.science.confined import (
    CRASHED,
    OUT_OF_MEMORY,
    TIMED_OUT,
    ConfinedExaminer,
    DataLimits,
    ExaminationLost,
    ExaminationRequest,
    add_worker_loss,
    build_worker_loss_problem,
)
from aex_outcomes.science.source_files import SourceFile

FOUND = {"examination": {"domain": None, "claims": 1}}


class Scripted:
    def __init__(self, ends: Callable[[list[str]], ConfinementError | dict[str, Any]]) -> None:
        self.ends = ends
        self.requests: list[dict[str, Any]] = []

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        assert (job, timeout_s, queue) == ("aex_outcomes.science.job:examine_candidate", None, "acme")
        self.requests.append(json.loads(json.dumps(payload)))
        end = self.ends([file["owner"] for file in payload["files"]])
        if isinstance(end, ConfinementError):
            raise end
        return end


def source(owner: DataOwner, path: str = "/nowhere") -> SourceFile:
    return SourceFile(name=f"{owner.value}.csv", media_type="text/csv", path=path, owner=owner)


OWN, AGENT_FILE = source(DataOwner.CONSUMER), source(DataOwner.AGENT)


def request(*files: SourceFile) -> ExaminationRequest:
    demanded = Science.model_validate(
        {"expected_outcome": "canary", "data": [{"name": "own.csv", "sha256": "ab" * 32}]}
    )
    return ExaminationRequest("acme", demanded, None, {"mean_fitness": "-0.40"}, files)


async def examined(pool: Scripted, *files: SourceFile, **limits: Any) -> Examination:
    return await ConfinedExaminer(pool, DataLimits(**limits)).examine_with_retries(request(*files))


async def test_worker_receives_claim_texts_without_secrets() -> None:
    pool = Scripted(lambda _: FOUND)
    await examined(pool, OWN, AGENT_FILE)
    [payload] = pool.requests
    assert payload["claimed_values"] == {"mean_fitness": "-0.40"}
    assert "canary" not in json.dumps(payload)
    assert "ab" * 32 not in json.dumps(payload)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (JobOutOfMemory("x"), "out_of_memory"),
        (JobFailed("RuntimeError", "can't start new thread"), "out_of_memory"),
        (JobFailed("OutOfMemoryException", "could not allocate"), "out_of_memory"),
        (JobTimeout("x"), "timed_out"),
        (JobCrashed("x"), "crashed"),
    ],
)
async def test_unreadable_file_is_its_owners_fault(error: ConfinementError, code: str) -> None:
    pool = Scripted(lambda owners: error if "agent" in owners else FOUND)
    found = await examined(pool, OWN, AGENT_FILE)
    assert [(each.code, each.fault, each.artifact) for each in found.problems] == [(code, Fault.AGENT, "agent.csv")]
    pool = Scripted(lambda owners: error if owners else FOUND)
    found = await examined(pool, OWN)
    assert [(each.code, each.fault) for each in found.problems] == [(code, Fault.PLATFORM)]
    assert len(pool.requests[-1]["files"]) == 0


@pytest.mark.parametrize("error", [JobCrashed("x"), JobFailed("RuntimeError", "can't start new thread")])
async def test_a_worker_that_dies_once_may_have_died_of_anything(error: ConfinementError) -> None:
    ends: Iterator[ConfinementError | dict[str, Any]] = iter([error, FOUND])
    pool = Scripted(lambda _: next(ends))
    assert (await examined(pool, AGENT_FILE)).problems == ()


LOST = [JobFailed("E", "canary"), PoolBusy("x"), WorkersUnavailable("x"), {"examination": {"claims": "canary"}}, {}]


@pytest.mark.parametrize("end", LOST)
async def test_platform_failures_are_not_attributed_to_data(end: ConfinementError | dict[str, Any]) -> None:
    with pytest.raises(ExaminationLost) as lost:
        await examined(Scripted(lambda _: end), AGENT_FILE)
    assert "canary" not in str(lost.value)


async def test_lost_examination_keeps_details_for_the_owner() -> None:
    with pytest.raises(ExaminationLost) as lost:
        await examined(Scripted(lambda _: JobFailed("TypeError", "a cell")))
    assert (str(lost.value), lost.value.detail) == ("JobFailed", "TypeError: a cell")
    with pytest.raises(ExaminationLost):  # although no files are left to leave out
        await examined(Scripted(lambda _: JobTimeout("x")))


def test_problem_of_several_suspects_names_none_and_gives_the_fix() -> None:
    codes = (OUT_OF_MEMORY, TIMED_OUT, CRASHED)
    found = [build_worker_loss_problem([AGENT_FILE, source(DataOwner.AGENT, "/b")], code) for code in codes]
    assert {each.artifact for each in found} == {None}
    assert len({each.message for each in found}) == 3
    assert all("send" in each.message for each in found)


def test_missing_statistics_of_lost_files_are_lost() -> None:
    listed = (
        DataProblem(code="artifact_missing", message="m", name="a"),
        DataProblem(code="column_missing", message="m", name="c"),
        DataProblem(code="column_missing", message="m", name="x", fault=Fault.PLATFORM),
        DataProblem(code="undefined", message="m", name="r"),
    )
    found = add_worker_loss(Examination(problems=listed), build_worker_loss_problem([AGENT_FILE], TIMED_OUT))
    assert [(each.code, each.name) for each in found.problems] == [
        ("timed_out", None), ("timed_out", "a"), ("timed_out", "c"), ("column_missing", "x"), ("undefined", "r"),
    ]  # fmt: skip


def problems(*listed_problems: tuple[str, str]) -> dict[str, Any]:
    listed = [{"code": code, "message": "m", "name": "m", "fault": fault} for code, fault in listed_problems]
    return {"examination": {"claims": 1, "problems": listed}}


@pytest.mark.parametrize("code", ["timed_out", "out_of_memory"])
async def test_too_large_own_data_are_examined_alone(code: str) -> None:
    pool = Scripted(lambda owners: problems((code, "platform")) if "agent" in owners else FOUND)
    found = await examined(pool, OWN, AGENT_FILE)
    assert [(each.code, each.fault, each.artifact) for each in found.problems] == [(code, Fault.AGENT, "agent.csv")]
    pool = Scripted(lambda _: problems((code, "platform")))
    found = await examined(pool, OWN, AGENT_FILE)
    assert [(each.code, each.fault) for each in found.problems] == [(code, Fault.PLATFORM)]
    assert [len(each["files"]) for each in pool.requests] == [2, 1]


async def test_fatal_file_is_not_requested_a_second_time() -> None:
    pool = Scripted(lambda owners: JobCrashed("x") if owners else problems(("artifact_missing", "agent")))
    found = await examined(pool, AGENT_FILE)
    assert [(each.code, each.name) for each in found.problems] == [("crashed", None), ("crashed", "m")]


async def test_a_worker_that_had_no_time_says_nothing_of_the_files() -> None:
    with pytest.raises(ExaminationLost, match="JobTimeout"):
        await examined(Scripted(lambda _: JobTimeout("x", cpu_seconds=39.0)), OWN, AGENT_FILE, cpu_seconds=20)
    hanging = Scripted(lambda owners: JobTimeout("x", cpu_seconds=40.0) if "agent" in owners else FOUND)
    found = await examined(hanging, OWN, AGENT_FILE, cpu_seconds=20)
    assert [(each.code, each.fault) for each in found.problems] == [("timed_out", Fault.AGENT)]


def test_reading_ends_by_itself_before_its_worker_is_ended() -> None:
    assert DataLimits.from_worker_bounds(DATA_SANDBOX) == DataLimits()
    for memory_mb in (64, 256, 512, 4_096):
        limits = DataLimits.from_worker_bounds(SandboxConfig(memory_limit_mb=memory_mb, timeout_ms=9_000))
        assert memory_mb / 2 <= limits.memory_mb < memory_mb
        assert limits.cpu_seconds == pytest.approx(9 / 4)  # for each of two owners
