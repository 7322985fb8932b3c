import tempfile
from pathlib import Path
from typing import Any

import pytest

from aex_models.audiences import Audience, project
from aex_models.examination import DataOwner, Fault
from aex_models.science import Science, ScienceResult
from aex_outcomes.config import DATA_SANDBOX, SandboxConfig
from aex_outcomes.science.confined import DataLimits, ExaminationLost
from aex_outcomes.science.local import CandidateClaims, LocalScience
from aex_outcomes.science.source_files import InputFile, stage_temporary_copies
from tests.libs.outcomes.science.fitness import CSV, MEAN, science
from tests.parts.reviewing import ScriptedReviewer

CLAIMS = {"mean_fitness": round(MEAN, 2)}


def given(name: str, content: bytes, owner: DataOwner) -> InputFile:
    return InputFile(name, None, content, owner)


OWN = given("raw.csv", CSV.encode(), DataOwner.CONSUMER)


async def concluded(*files: InputFile, bounds: SandboxConfig = DATA_SANDBOX, **limits: Any) -> ScienceResult:
    local = LocalScience(bounds, DataLimits(**limits))
    return await local.examine_and_review(
        Science.model_validate(science()), None, CandidateClaims({}, CLAIMS, files=files)
    )


@pytest.mark.slow
async def test_a_file_that_kills_its_worker_is_left_out_and_is_its_owners_problem() -> None:
    huge = given("huge.csv", b"mutation,mut_score\n" + b"A1V,-0.123456789\n" * 1_500_000, DataOwner.CONSUMER)
    found = await concluded(huge, bounds=SandboxConfig(timeout_ms=60_000, memory_limit_mb=100))
    problem = found.examination.problems[0]
    assert problem.code in {"out_of_memory", "crashed"}, "which of them: that is up to whose allocation fails first"
    assert (problem.artifact, problem.fault) == ("huge.csv", Fault.PLATFORM)
    assert found.passed is None


async def test_an_examination_that_fails_in_itself_is_lost_and_no_verdict() -> None:
    with pytest.raises(ExaminationLost, match="no worker could examine the claims: TypeError"):
        await concluded(OWN, max_rows="many")


async def test_reviewer_sees_the_columns_of_readable_files() -> None:
    reviewer = ScriptedReviewer()
    files = (OWN, given("note.txt", b"hush", DataOwner.AGENT), given("raw.csv", b"secret\nhush\n", DataOwner.AGENT))
    for checks in (["peer_review"], ["recompute_statistics", "peer_review"]):
        demands = Science.model_validate(science(checks=checks))
        local = LocalScience(DATA_SANDBOX, DataLimits(), reviewer)
        found = await local.examine_and_review(demands, None, CandidateClaims({}, CLAIMS, files=files))
        brief = reviewer.briefs[-1]
        assert [(each.name, each.owner.value, each.columns) for each in brief.files] == [
            ("raw.csv", "consumer", ("mutation", "mut_score")),
            ("note.txt", "agent", ()),
            ("raw.csv", "agent", ("secret",)),
        ]
        assert "files" not in project(found, Audience.OPERATOR)["examination"]


async def test_too_large_file_is_refused_by_a_short_copy() -> None:
    found = await concluded(given("scores.csv", CSV.encode(), DataOwner.AGENT), max_bytes=20)
    assert "too_large" in {each.code for each in found.examination.problems}


def test_copies_are_there_for_as_long_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with stage_temporary_copies([OWN, given("raw.csv", b"", DataOwner.AGENT)], 1_000) as copies:
        assert [each.owner for each in copies] == [DataOwner.CONSUMER, DataOwner.AGENT]
        assert [Path(each.path).read_bytes() for each in copies] == [CSV.encode(), b""]
        assert {each.media_type for each in copies} == {"text/csv"}
        assert len({each.path for each in copies}) == 2, "of one name, and yet two files"
    assert list(tmp_path.iterdir()) == []
    with stage_temporary_copies([OWN], 20) as (copy,):
        assert Path(copy.path).stat().st_size == 21
    with stage_temporary_copies([given("../../etc/passwd", b"a,b\n", DataOwner.AGENT)], 1_000) as (copy,):
        assert "passwd" not in copy.path
        assert Path(copy.path).read_bytes() == b"a,b\n"
